"""Exit statuses, options that are texts or files, and the demo's page."""

from __future__ import annotations

import html
import io
import math
from pathlib import Path
from typing import Any

import pytest

from services.domain import errors
from spokesmodel.cli.output import error_of_failure, exit_status
from spokesmodel.cli.texts import read_brief, read_text
from spokesmodel.client import Client
from spokesmodel.demo_page import page, render_speed
from spokesmodel.first_start import write_private
from spokesmodel.state_folder import StateFolder, running_server


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidRequest("x"), 2),
        (errors.ContentRejected("x"), 3),
        (errors.NotFound("x"), 3),
        (errors.Forbidden("x"), 3),
        (errors.EngineFailed("x"), 4),
        (errors.Unavailable("x"), 5),
        (errors.QuotaExceeded("x", retry_after_s=1), 5),
        (errors.Canceled("x"), 6),
    ],
)
def test_exit_status_follows_the_error_tree(error: errors.SpokesmodelError, status: int) -> None:
    assert exit_status(error) == status


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("face_not_found", 3),
        ("nothing_to_say", 3),
        ("no_audio_stream", 3),
        ("engine_failed", 4),
        ("engine_lost", 4),
        ("deadline_exceeded", 4),
        ("attempt_timed_out", 4),
        ("memory_exceeded", 4),
        ("empty_output", 4),
        ("damaged_output", 4),
        ("prepare_failed", 4),
        ("weights_missing", 5),
        ("voice_not_installed", 5),
        ("engine_not_installed", 5),
        ("checkpoint_not_configured", 5),
        ("store_unavailable", 5),
    ],
)
def test_failure_of_a_job_has_the_status_of_its_code(code: str, status: int) -> None:
    error = error_of_failure({"code": code, "detail": "d", "param": "p", "retryable": True})
    assert exit_status(error) == status
    assert (error.code, error.detail, error.param, error.retryable) == (code, "d", "p", True)


def test_text_is_itself_or_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffGrüße".encode())
    assert read_text(str(path), param="text") == "Grüße"
    assert read_text("Grüße", param="text") == "Grüße"
    assert read_text("a" * 5000, param="text") == "a" * 5000
    assert read_text("zero\0byte", param="text") == "zero\0byte"


@pytest.mark.parametrize(
    "text",
    ["and/or", "https://example.com", "这款水杯适合上班/上学。", "Read notes.txt first.", "a.b", "/ is a slash", ""],
)
def test_text_with_slash_or_dot_is_still_a_text(text: str) -> None:
    assert read_text(text, param="text") == text


def test_word_that_goes_on_from_a_folder_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    with pytest.raises(errors.InvalidRequest) as caught:
        read_text("texts/missing", param="text")
    assert caught.value.code == "file_not_found"


@pytest.mark.parametrize(
    ("brief", "code"),
    [
        ("[" * 200_000, "malformed_json"),
        ('{"product": ' * 100_000, "malformed_json"),
        ('{"duration_s": NaN}', "malformed_json"),
        ('{"product": "\\ud800"}', "not_utf8"),
    ],
)
def test_brief_that_is_no_data_is_refused(monkeypatch: pytest.MonkeyPatch, brief: str, code: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(brief.encode())))
    with pytest.raises(errors.InvalidRequest) as caught:
        read_brief("-")
    assert caught.value.code == code


@pytest.mark.parametrize(("value", "code"), [(math.nan, "out_of_range"), ("a\udcffb", "not_utf8")])
def test_client_sends_only_json(value: object, code: str) -> None:
    with Client("http://127.0.0.1:1", "sk_x") as client, pytest.raises(errors.InvalidRequest) as caught:
        client.post("/v1/videos", {"x": value})
    assert caught.value.code == code


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Grüße".encode("latin-1"))
    with pytest.raises(errors.InvalidRequest) as caught:
        read_text(str(path), param="text")
    assert (caught.value.code, caught.value.param) == ("not_utf8", "text")


@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_brief_that_is_no_object_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "brief.json"
    path.write_text(content)
    with pytest.raises(errors.InvalidRequest) as caught:
        read_brief(str(path))
    assert caught.value.code == "malformed_json"


def test_client_tells_files_that_it_cannot_use_and_a_server_that_is_gone(tmp_path: Path) -> None:
    with Client("http://127.0.0.1:1", "sk_x") as client:
        with pytest.raises(errors.InvalidRequest) as unreadable:
            client.upload(tmp_path / "nothing.jpg", fallback_type="image/jpeg")
        with pytest.raises(errors.InvalidRequest) as unwritable:
            client.download("http://127.0.0.1:1/x", tmp_path / "nowhere" / "film.mp4")
        with pytest.raises(errors.Unavailable) as gone:
            client.download("http://127.0.0.1:1/x", tmp_path / "film.mp4")
    assert unreadable.value.code == "file_not_found"
    assert unwritable.value.code == "out_not_writable"
    assert gone.value.code == "server_unreachable"
    assert list(tmp_path.iterdir()) == []


VTT = (
    "WEBVTT\n\n00:00:00.100 --> 00:00:02.000\nFirst line\nsecond line.\n\n00:00:02.100 --> 00:00:03.000\nLast <one>.\n"
)
FACTS: dict[str, Any] = {
    "duration_s": 4.0,
    "width_px": 720,
    "height_px": 1280,
    "fps": 25,
    "num_frames": 100,
    "engine_cpu_s": 2.0,
    "language": "en-US",
    "writer": "template",
}


def test_render_speed_is_frames_per_cpu_second() -> None:
    assert render_speed(FACTS) == 50.0


def test_page_escapes_what_it_shows(tmp_path: Path) -> None:
    files = {"video": tmp_path / "a b.mp4", "poster": tmp_path / "p.jpg", "subtitles_vtt": tmp_path / "c.vtt"}
    files["subtitles_vtt"].write_text(VTT)
    files["sheet"] = tmp_path / "worn & shown.jpg"
    files["script"] = tmp_path / "s.txt"
    files["script"].write_text("First line. Last <one>.")
    brief = {"product": "<script>alert(1)</script>", "price": "$5", "benefits": ["a", "b"]}
    made = page(
        brief=brief,
        facts=FACTS,
        preview_facts={"engine_cpu_s": 7.6},
        files=files,
        presenter="avatar-vera",
        voice="en-us",
        version="1.2.3",
    )
    assert "<script>" not in made
    assert html.escape("<script>alert(1)</script>") in made
    assert "Last &lt;one&gt;." in made
    assert 'src="a%20b.mp4"' in made
    assert "<dd>$5</dd>" in made
    assert "<b>50</b>" in made
    assert 'src="worn%20%26%20shown.jpg"' in made
    assert "8 CPU-seconds" in made


def test_private_file_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_state_folder_is_exclusive_and_tells_where_its_runner_listens(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "new" / "state")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    (folder.path / "api_key").write_text("sk_x\n")
    assert running_server(folder.path) is None  # it has not told yet
    folder.tell_address("http://127.0.0.1:1")
    found = running_server(folder.path)
    assert found is not None
    assert (found.url, found.api_key) == ("http://127.0.0.1:1", "sk_x")
    with pytest.raises(errors.Unavailable) as caught:
        StateFolder(folder.path)
    assert caught.value.code == "state_dir_in_use"
    folder.close()
    assert running_server(folder.path) is None
    StateFolder(folder.path).close()


def test_state_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.Unavailable) as caught:
        StateFolder(tmp_path / "file" / "state")
    assert caught.value.code == "store_unavailable"


def test_looking_for_a_server_makes_no_folder(tmp_path: Path) -> None:
    assert running_server(tmp_path / "nowhere") is None
    assert not (tmp_path / "nowhere").exists()
