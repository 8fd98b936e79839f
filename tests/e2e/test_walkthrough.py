"""``docs/api.md`` does what it says: its code blocks, in order, against a running server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from PIL import Image

from models.serving.tasks import SERVED
from spokesmodel.runner import LocalSystem
from tests.e2e.conftest import running
from tests.e2e.pages import Page, reader_in

PAGE = Page("api.md")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSystem]:
    state_dir = tmp_path_factory.mktemp("walkthrough") / "state"
    with running(state_dir, engines=SERVED, allow_private_callbacks=True) as system:
        yield system


@pytest.fixture
def environment(system: LocalSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the page's reader has set; the folder in which its code runs."""
    reader_in(tmp_path, system, monkeypatch)
    return tmp_path


def test_python_of_the_page_runs_from_top_to_bottom(environment: Path) -> None:
    names = PAGE.run_python()
    with av.open(str(environment / "video.mp4")) as film:
        assert [stream.codec_context.name for stream in film.streams] == ["h264", "aac"]
        assert film.duration / 1e6 == pytest.approx(names["job"]["result"]["facts"]["duration_s"], abs=0.1)
    assert "-->" in (environment / "subtitles.srt").read_text(encoding="utf-8")
    assert names["upload"]["file_name"] == "小明's portrait.jpg"
    assert len(names["jobs"]["items"]) >= 2
    totals = {total["kind"]: total["num_jobs"] for total in names["usage"]["totals"]}
    assert totals["garment_preview"] == totals["product"] == 1
    assert sum(totals.values()) == len(names["jobs"]["items"])
    with Image.open(environment / "tee.png") as picture:
        assert picture.size == (
            names["worn"]["result"]["facts"]["width_px"],
            names["worn"]["result"]["facts"]["height_px"],
        )


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="bash or curl is not here")
def test_curl_of_the_page_makes_a_video(environment: Path) -> None:
    [answer] = PAGE.run_bash()
    assert json.loads(answer)["state"] == "succeeded"


def test_json_of_the_page_is_json_in_the_form_of_the_answers() -> None:
    from lambdas.api.schemas.account import HealthBody
    from lambdas.api.schemas.jobs import JobDetailBody
    from lambdas.api.schemas.scripts import ScriptBody

    for text, model in zip(PAGE.blocks("json"), (HealthBody, ScriptBody, JobDetailBody), strict=True):
        model.model_validate_json(text)
