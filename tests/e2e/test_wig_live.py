"""``spokesmodel wig-live``: a video in, the same with a wig out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from tests import drawn_products
from tests.e2e.test_cases import frames_of, write_still_clip
from tests.e2e.test_cli import error_of, spokesmodel


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A second of built-in Max, who has no hair."""
    with Image.open(weights.path("avatar-max")) as portrait:
        small = portrait.convert("RGB").resize((288, 384))
    return write_still_clip(tmp_path / "Max 'live'.mp4", np.asarray(small))


@pytest.fixture
def bob(tmp_path: Path) -> Path:
    path = tmp_path / "wig.png"
    path.write_bytes(drawn_products.bob())
    return path


def test_video_comes_back_with_the_wig_signed_and_labelled(clip: Path, bob: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.mp4"
    run = spokesmodel(
        "wig-live",
        "--video",
        str(clip),
        "--synthetic",
        "--wig",
        str(bob),
        "--wig-synthetic",
        "--out",
        str(out),
        "--json",
    )
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    made, before = list(frames_of(out)), list(frames_of(clip))
    assert len(made) == facts["num_frames"] > 5
    assert facts["num_frames_without_face"] == 0
    assert made[0].shape == before[0].shape
    head, chest = np.s_[60:120, 100:190], np.s_[330:370, 120:170]
    for frame in (made[1], made[-2]):
        assert np.abs(frame[head].astype(int) - before[0][head]).mean() > 25  # brown hair on a bald head
        assert np.abs(frame[chest].astype(int) - before[0][chest]).mean() < 6
    assert np.abs(made[1].astype(int) - made[-2]).mean() < 2  # a head that stands still wears a wig that does
    assert facts["visible_label"] is True
    assert spokesmodel("verify", str(out)).returncode == 0


def test_consent_is_needed_for_both_and_a_revoked_one_is_none(clip: Path, bob: Path, tmp_path: Path) -> None:
    state = ("--state-dir", str(tmp_path / "state"))
    command = (
        "wig-live",
        "--video",
        str(clip),
        "--wig",
        str(bob),
        "--out",
        str(tmp_path / "out.mp4"),
        *state,
        "--json",
    )
    for right in ((), ("--synthetic",), ("--wig-synthetic",)):
        refused = spokesmodel(*command, *right)
        assert (refused.returncode, error_of(refused)["code"]) == (3, "consent_required"), refused.stderr
    form = tmp_path / "form.pdf"
    form.write_bytes(b"%PDF-1.7 signed")
    added = spokesmodel("consents", "add", "--subject", "max", "--purpose", "spring", "--evidence", str(form), *state)
    consent_id = added.stdout.strip()
    spokesmodel("consents", "revoke", consent_id, *state)
    refused = spokesmodel(*command, "--consent", consent_id, "--wig-synthetic")
    assert (refused.returncode, error_of(refused)["code"]) == (3, "consent_revoked")
    assert not (tmp_path / "out.mp4").exists()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"--out": "out.mov"}, "out_not_mp4"),
        ({"--size": "9"}, "out_of_range"),
        ({"--video": "nowhere.mp4"}, "file_not_found"),
        ({"--wig": "BOB-7"}, "product_not_found"),
        ({"--face": "left"}, "out_of_range"),
    ],
)
def test_wrong_usage_is_told(clip: Path, bob: Path, tmp_path: Path, changes: dict[str, str], code: str) -> None:
    options = {"--video": str(clip), "--wig": str(bob), "--out": str(tmp_path / "out.mp4"), **changes}
    named = [word for option in options.items() for word in option]
    run = spokesmodel("wig-live", *named, "--synthetic", "--json")
    assert (run.returncode, error_of(run)["code"]) == (2, code), run.stderr


def test_video_itself_is_never_replaced(clip: Path, bob: Path) -> None:
    before = clip.read_bytes()
    run = spokesmodel(
        "wig-live",
        "--video",
        str(clip),
        "--synthetic",
        "--wig",
        str(bob),
        "--wig-synthetic",
        "--out",
        str(clip),
        "--json",
    )
    assert (run.returncode, error_of(run)["code"]) == (2, "out_is_input")
    assert clip.read_bytes() == before
