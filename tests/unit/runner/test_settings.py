"""Settings pass to workers through their environment, whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from services.domain.errors import InvalidRequest
from services.settings import Settings
from spokesmodel.runner import _worker_environment


def test_settings_survive_the_environment() -> None:
    settings = replace(
        Settings(), state_dir=Path("/a b/ü"), allow_private_callbacks=True, lease_s=0.5, engine_memory_bytes=0
    )
    assert Settings.from_environment(settings.to_environment()) == settings


def test_unknown_and_malformed_variables_are_named() -> None:
    with pytest.raises(InvalidRequest, match="SPOKESMODEL_LEASES"):
        Settings.from_environment({"SPOKESMODEL_LEASES": "1"})
    with pytest.raises(InvalidRequest, match="SPOKESMODEL_LEASE_S"):
        Settings.from_environment({"SPOKESMODEL_LEASE_S": "soon"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SPOKESMODEL_NUM_WORKERS", "0"),
        ("SPOKESMODEL_MAX_AUDIO_S", "-1"),
        ("SPOKESMODEL_MAX_TEXT_CHARACTERS", "-20"),
        ("SPOKESMODEL_LEASE_S", "nan"),
        ("SPOKESMODEL_ATTEMPT_TIMEOUT_S", "inf"),
        ("SPOKESMODEL_ENGINE_MEMORY_BYTES", "-1"),
        ("SPOKESMODEL_CONTENT_PRODUCER", ""),
        ("SPOKESMODEL_CONTENT_PRODUCER", "a\x01b"),
        ("SPOKESMODEL_CONTENT_PRODUCER", "x" * 201),
    ],
)
def test_limits_that_allow_nothing_are_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=variable) as caught:
        Settings.from_environment({variable: value})
    assert caught.value.code == "out_of_range"


def test_zero_that_means_no_limit_or_no_waiting_is_fine() -> None:
    zero = {"SPOKESMODEL_ENGINE_MEMORY_BYTES": "0", "SPOKESMODEL_MAX_WAIT_S": "0"}
    settings = Settings.from_environment(zero)
    assert (settings.engine_memory_bytes, settings.max_wait_s) == (0, 0)


def test_worker_gets_the_runners_settings_and_not_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOKESMODEL_SIGNING_SECRET", "x" * 20)
    monkeypatch.setenv("SPOKESMODEL_MAX_AUDIO_S", "7")
    environment = _worker_environment(replace(Settings(), max_audio_s=9.0, signing_secret="y" * 20))
    assert "x" * 20 not in environment.values()
    assert "y" * 20 not in environment.values()
    settings = Settings.from_environment(environment)
    assert settings.max_audio_s == 9.0
    assert settings.state_dir.is_absolute()
