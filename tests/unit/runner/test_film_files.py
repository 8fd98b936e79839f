"""No file of a user is lost to a film, and what cannot be used is told before any work."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from services.domain.errors import InvalidRequest
from spokesmodel.cli.app import app
from spokesmodel.cli.film_files import beside, refuse_foreign, refuse_inputs, save_outputs
from spokesmodel.client import Client


@pytest.fixture
def no_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to start the backend is a failure of the test: what is told here costs no work."""

    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("work was begun")

    monkeypatch.setattr("spokesmodel.runner.LocalSystem", start)


def video(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["video", *map(str, arguments), "--json"])


def refusal(result: Result) -> tuple[int, str, str]:
    assert result.stderr, result.exception
    error = json.loads(result.stderr.splitlines()[-1])["error"]
    return result.exit_code, error["code"], error["detail"]


def file(path: Path, content: str = "precious") -> Path:
    path.write_text(content)
    return path


def test_usual_names_of_inputs_are_not_names_of_outputs() -> None:
    names = {path.name for path in beside(Path("me.mp4")).values()}
    assert names == {"me.mp4", "me.srt", "me.vtt", "me-poster.jpg", "me-script.txt"}


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("portrait", "me.mp4"),
        ("portrait", "me-poster.jpg"),
        ("background", "me-poster.jpg"),
        ("audio", "me.mp4"),
        ("transcript", "me.srt"),
        ("text", "me-script.txt"),
        ("brief", "me-script.txt"),
    ],
)
@pytest.mark.usefixtures("no_backend")
def test_no_output_replaces_an_input(tmp_path: Path, option: str, name: str) -> None:
    mine = file(tmp_path / name)
    given = {"portrait": "vera", option: str(mine)}
    if not given.keys() & {"text", "brief", "audio"}:
        given["text"] = "Hi."
    arguments = [part for key, value in given.items() for part in (f"--{key}", value)]
    status, code, detail = refusal(video(*arguments, "--out", tmp_path / "me.mp4"))
    assert (status, code) == (2, "out_is_input")
    assert str(mine) in detail
    assert f"--{option}" in detail
    assert mine.read_text() == "precious"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_input_is_known_under_another_name(tmp_path: Path, link: Any) -> None:
    mine = file(tmp_path / "me.jpg")
    link(mine, tmp_path / "film.mp4")
    with pytest.raises(InvalidRequest) as caught:
        refuse_inputs(beside(tmp_path / "film.mp4"), {"portrait": str(mine)})
    assert caught.value.code == "out_is_input"


def test_texts_and_avatars_are_no_files(tmp_path: Path) -> None:
    refuse_inputs(
        beside(tmp_path / "film.mp4"), {"text": "long " * 2000, "portrait": "vera", "brief": None, "audio": "a\0b"}
    )


def test_new_film_replaces_no_file(tmp_path: Path) -> None:
    targets = beside(tmp_path / "film.mp4")
    file(tmp_path / "film.srt", "by hand")
    with pytest.raises(InvalidRequest, match=r"film\.srt") as caught:
        refuse_foreign(targets, targets)
    assert caught.value.code == "out_exists"
    refuse_foreign(targets, ["video", "poster"])  # no subtitles are asked for
    file(tmp_path / "film.mp4", "an earlier film")
    refuse_foreign(targets, targets)


class FileClient(Client):
    def __init__(self) -> None:
        pass

    def download(self, url: str, path: Path) -> None:
        path.write_text(url)


def test_replaced_files_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file(tmp_path / "film.mp4", "an earlier film")
    outputs = [{"name": name, "url": name} for name in ("video", "poster", "of_a_newer_server")]
    files = save_outputs(FileClient(), {"result": {"outputs": outputs}}, beside(out))
    assert files == {"video": out, "poster": tmp_path / "film-poster.jpg"}
    assert out.read_text() == "video"
    assert capsys.readouterr().err == f"note: replaced {out}\n"


@pytest.mark.usefixtures("no_backend")
def test_demo_does_not_replace_its_presenter(tmp_path: Path) -> None:
    mine = file(tmp_path / "demo.jpg")
    result = CliRunner().invoke(app, ["demo", "--presenter", str(mine), "--out", str(tmp_path), "--json"])
    assert refusal(result)[:2] == (2, "out_is_input")
    assert mine.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--text", "Hi.", "--speed", "nan"), "out_of_range"),
        (("--text", "Hi.", "--pitch", "inf"), "out_of_range"),
        (("--text", "Hi.", "--volume", "-inf"), "out_of_range"),
        (("--text", "a\udcffb"), "not_utf8"),
        (("--text", "/nowhere/text.txt"), "file_not_found"),
        (("--text", "missing.TXT"), "file_not_found"),
        (("--audio", "nowhere.wav"), "file_not_found"),
        (("--audio", "nowhere.wav", "--transcript", "./words"), "file_not_found"),
        (("--text", "Hi.", "--background", "nowhere.png"), "file_not_found"),
    ],
)
@pytest.mark.usefixtures("no_backend")
def test_what_cannot_be_used_is_told_before_any_work(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    result = video("--portrait", "vera", *arguments, "--out", tmp_path / "film.mp4")
    assert refusal(result)[:2] == (2, code)


@pytest.mark.usefixtures("no_backend")
def test_server_without_workers_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["serve", "--workers", "0", "--state-dir", str(tmp_path), "--json"])
    assert refusal(result)[:2] == (2, "out_of_range")
