"""One call builds a whole machine."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import pytest

from services.bootstrap import Services, bootstrap
from services.domain.errors import InvalidRequest
from services.settings import Settings
from tests.fakes.catalogue import FakeVoiceCatalogue
from tests.fakes.clock import FakeClock


@pytest.fixture
def settings(tmp_path):
    return Settings(state_dir=tmp_path / "state")


def test_every_port_has_an_adapter(settings):
    services = bootstrap(settings)
    missing = [field.name for field in fields(Services) if getattr(services, field.name) is None]
    assert missing == ["language_model", "managed_speech"]


def test_replacement_takes_the_adapters_place_and_reaches_the_others(settings):
    clock = FakeClock()
    services = bootstrap(settings, clock=clock, voices=FakeVoiceCatalogue())
    assert services.clock is clock
    url = services.objects.sign_download(_key(), file_name="a", expires_in_s=60)
    assert f"expires={int(clock.now().timestamp()) + 60}" in url


def test_unknown_replacement_is_an_error(settings):
    with pytest.raises(TypeError):
        bootstrap(settings, voices=FakeVoiceCatalogue(), jobz=object())


def test_unknown_profile_is_refused(settings):
    with pytest.raises(InvalidRequest) as raised:
        bootstrap(Settings(profile="moon"))
    assert raised.value.code == "unknown_profile"


def test_signing_secret_is_made_once_and_readable_by_the_owner_only(settings):
    with ThreadPoolExecutor(8) as pool:
        secrets = {
            one.settings.signing_secret
            for one in pool.map(lambda _: bootstrap(settings, voices=FakeVoiceCatalogue()), range(8))
        }
    assert len(secrets) == 1
    assert len(secrets.pop()) >= 32
    path = settings.state_dir / "signing.secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in settings.state_dir.glob("signing*")] == ["signing.secret"]


def test_given_signing_secret_is_taken(tmp_path):
    services = bootstrap(Settings(state_dir=tmp_path, signing_secret="x" * 40), voices=FakeVoiceCatalogue())
    assert services.settings.signing_secret == "x" * 40
    assert not (tmp_path / "signing.secret").exists()


def _key():
    from services.domain.object_key import ObjectKey

    return ObjectKey.parse("result/tenant_a/job_1/1/video.mp4")
