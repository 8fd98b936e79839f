"""``spokesmodel consents``, and what it lets ``spokesmodel video`` do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from models import weights

QUICK = ("--aspect", "1:1", "--height", "128", "--subtitles", "none")


def spokesmodel(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spokesmodel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def form(tmp_path: Path) -> str:
    path = tmp_path / 'Élise\'s "release" 合同.pdf'
    path.write_bytes(b"%PDF-1.7 signed")
    return str(path)


def test_consent_lets_a_film_be_made_until_it_is_revoked(tmp_path: Path, form: str) -> None:
    state = ("--state-dir", str(tmp_path / "state"))
    film = (
        "video", "--portrait", str(weights.path("avatar-vera")), "--text", "Hello.", *QUICK, *state,
        "--out", str(tmp_path / "film.mp4"),
    )  # fmt: skip

    refused = spokesmodel(*film)
    assert (refused.returncode, "consent_required" in refused.stderr) == (3, True)

    added = spokesmodel(
        "consents",
        "add",
        "--subject",
        "Élise",
        "--purpose",
        "spring",
        "--evidence",
        form,
        "--until",
        "2099-01-01",
        *state,
    )
    assert added.returncode == 0, added.stderr
    consent_id = added.stdout.strip()

    made = spokesmodel(*film, "--consent", consent_id)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "film.mp4").stat().st_size > 0

    listed = spokesmodel("consents", "list", "--subject", "Élise", "--json", *state)
    [consent] = json.loads(listed.stdout)
    assert (consent["id"], consent["likenesses"], consent["expires_at"]) == (
        consent_id,
        ["face"],
        "2099-01-01T00:00:00.000Z",
    )

    assert spokesmodel("consents", "revoke", consent_id, *state).returncode == 0
    late = spokesmodel(*film, "--consent", consent_id)
    assert (late.returncode, "consent_revoked" in late.stderr) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("consents", "list"), 2, "missing"),
        (
            ("consents", "revoke", "consent_01JXXXXXXXXXXXXXXXXXXXXXXX", "--state-dir", "{state}"),
            3,
            "consent_not_found",
        ),
        (
            (
                "consents",
                "add",
                "--subject",
                "a",
                "--purpose",
                "b",
                "--evidence",
                "nowhere.pdf",
                "--state-dir",
                "{state}",
            ),
            2,
            "file_not_found",
        ),
        (
            ("consents", "add", "--subject", "a/b", "--purpose", "b", "--evidence", "{form}", "--state-dir", "{state}"),
            2,
            "malformed_subject",
        ),
    ],
)
def test_wrong_use_is_told_by_code(
    tmp_path: Path, form: str, arguments: tuple[str, ...], status: int, code: str
) -> None:
    filled = [one.format(state=tmp_path / "state", form=form) for one in arguments]
    run = spokesmodel(*filled)
    assert (run.returncode, f"code: {code}" in run.stderr) == (status, True), run.stderr
