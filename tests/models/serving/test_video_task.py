"""The video task: nothing of what it makes leaves unsigned."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models import weights
from models.provenance.inspection import CredentialState, inspect_file
from models.serving.engine import InferenceEngine
from models.serving.signing import media_type_of, signer_of
from models.serving.tasks.video import VideoTask
from services.adapters.aws.kms_signer import KmsSigner
from services.adapters.local.signer import FILE_NAME, LocalSigner
from services.domain.brief import Script, WriterKind
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from services.domain.storyboard import STORYBOARD_VERSION, BackgroundShot, PresenterShot, SpeechShot, Storyboard
from services.domain.video import Aspect, BackgroundKind, Disclosure, FrameSettings, SubtitleMode, VoiceSettings
from services.domain.wire import encode
from services.settings import Settings
from tests.fakes.events import FakeEventSink
from tests.fakes.signer import Authority, FakeSigner
from tests.models.serving.conftest import MemoryObjects, SystemClock

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")


@pytest.fixture
def answer_of(store: MemoryObjects, heard: FakeEventSink, tmp_path: Path) -> Callable[..., EngineAnswer]:
    """Runs one attempt at a short film with ``signer``."""

    def run(signer: object = None, *, settings: Settings | None = None, **changes: object) -> EngineAnswer:
        settings = settings or Settings(state_dir=tmp_path / "state")
        task = VideoTask(settings) if signer is None else VideoTask(settings, signer=lambda _: signer)
        engine = InferenceEngine(
            store_for=lambda _: store,
            events=heard,
            tasks={EngineKind.VIDEO: task},
            clock=SystemClock(),
            scratch_dir=tmp_path / "scratch",
        )
        engine.load()
        engine.admit()
        return engine.run(order(store, **changes))

    return run


def order(store: MemoryObjects, **changes: object) -> EngineRequest:
    tenant_id, job_id = new_id("tenant"), new_id("job")

    def put(name: str, data: bytes) -> str:
        key = ObjectKey(retention=Retention.WORK, tenant_id=tenant_id, owner_id=job_id, attempt=0, name=name)
        store.put(key, data, media_type="application/octet-stream")
        return str(key)

    script = Script(text="Hello.", language="en-US", writer=WriterKind.CLIENT, estimated_duration_s=1)
    board = Storyboard(
        job_id=job_id,
        presenter=PresenterShot(key=put("presenter", weights.path("avatar-vera").read_bytes())),
        speech=SpeechShot(script=script, voice=VoiceSettings(voice_id="en-us")),
        frame=FrameSettings(aspect=Aspect.SQUARE, height_px=160),
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        subtitles=SubtitleMode.FILE,
    )
    return EngineRequest(
        kind=EngineKind.VIDEO,
        tenant_id=tenant_id,
        job_id=job_id,
        attempt=1,
        storyboard_key=put("storyboard.json", encode(replace(board, **changes))),
        deadline_at=datetime.now(UTC) + timedelta(minutes=5),
    )


def stored(answer: EngineAnswer, store: MemoryObjects, folder: Path) -> dict[str, Path]:
    """The outputs as files, by role."""
    files = {}
    for output in answer.outputs:
        files[output.name] = folder / Path(output.key).name
        files[output.name].write_bytes(store.stored[output.key])
    return files


def test_every_picture_and_film_is_signed_and_counted_as_signed(answer_of, store, tmp_path):
    authority = Authority()
    answer = answer_of(FakeSigner(authority, is_trusted=True))
    assert answer.state is AnswerState.SUCCEEDED, answer.failure
    for output in answer.outputs:
        data = store.stored[output.key]
        assert (output.size_bytes, output.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    files = stored(answer, store, tmp_path)
    seen = [role for role, path in files.items() if path.suffix in (".mp4", ".jpg", ".png", ".webp")]
    assert sorted(seen) == ["poster", "video"]
    for role in seen:
        report = inspect_file(files[role], trust_anchors=authority.pem.decode())
        assert report.credentials.state is CredentialState.TRUSTED
        assert report.is_verified
        assert report.label.aigc["ProduceID"] == f"{answer.job_id}.{role}"
    assert answer.facts["credentials_trusted"] is True
    assert answer.facts["visible_label"] is True


def test_file_says_nothing_of_the_presenters(answer_of, store, tmp_path):
    """Sources are told by kind: no key, no hash, no second picture of the face."""
    answer = answer_of(FakeSigner())
    data = stored(answer, store, tmp_path)["poster"].read_bytes()
    presenter = weights.path("avatar-vera").read_bytes()
    assert b"image/jpeg" in data
    for secret in (hashlib.sha256(presenter).digest(), hashlib.sha256(presenter).hexdigest().encode(), b"tenant_"):
        assert secret not in data
    assert data.count(b"\xff\xd8\xff") == 1


def test_one_machine_signs_with_a_key_of_its_own(answer_of, store, tmp_path):
    answer = answer_of()
    assert answer.facts["credentials_trusted"] is False
    assert (tmp_path / "state" / FILE_NAME).is_file()
    assert inspect_file(stored(answer, store, tmp_path)["video"]).credentials.state is CredentialState.UNTRUSTED


def test_label_turned_off_leaves_credentials_and_is_a_fact(answer_of, store, tmp_path):
    answer = answer_of(FakeSigner(), disclosure=Disclosure(visible_label=False))
    assert answer.facts["visible_label"] is False
    assert inspect_file(stored(answer, store, tmp_path)["video"]).is_verified


@pytest.mark.parametrize("damage", ["unreadable", "broken"])
def test_key_that_cannot_be_used_fails_by_name_before_the_work(answer_of, store, tmp_path, damage):
    state = tmp_path / "state"
    state.mkdir()
    if damage == "unreadable":
        (state / FILE_NAME).mkdir()
    else:
        (state / FILE_NAME).write_text("no key")
    answer = answer_of()
    assert (answer.state, answer.failure.code) == (AnswerState.FAILED, "signing_unavailable")
    assert answer.failure.retryable
    assert answer.outputs == ()
    assert not any(key.startswith("result/") for key in store.stored)


def test_key_that_goes_away_meanwhile_fails_retryably_and_stores_nothing(answer_of, store):
    signer = FakeSigner()
    signer.refuses = True  # its certificate is there, the key is not
    answer = answer_of(signer)
    assert (answer.state, answer.failure.code) == (AnswerState.FAILED, "signing_unavailable")
    assert answer.failure.retryable
    assert not any(key.startswith("result/") for key in store.stored)


def test_clock_before_the_certificate_fails_retryably(answer_of):
    answer = answer_of(FakeSigner(since=datetime.now(UTC) + timedelta(days=2)))
    assert (answer.failure.code, answer.failure.retryable) == ("signing_unavailable", True)


def test_settings_choose_the_signer(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert isinstance(signer_of(Settings(state_dir=tmp_path)), LocalSigner)
    kms = signer_of(Settings(state_dir=tmp_path, signing_key_id="alias/x", certificate_secret="chain"))
    assert isinstance(kms, KmsSigner)
    assert kms.is_trusted


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\0\0\0\x18ftypisom", "video/mp4"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"whatever", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_source_is_named_by_its_first_bytes(tmp_path, data, media_type):
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    assert media_type_of(path) == media_type


def test_storyboard_of_a_newer_version_is_left_to_a_newer_engine(answer_of):
    answer = answer_of(version=STORYBOARD_VERSION + 1)
    assert answer.state is AnswerState.FAILED
    assert (answer.failure.code, answer.failure.retryable) == ("storyboard_too_new", True)
