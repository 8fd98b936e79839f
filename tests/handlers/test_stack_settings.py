"""Whoever deploys the stack can set what there is to set."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from services.domain.engine import EngineKind, Lane
from services.settings import Settings
from spokesmodel.template import load
from tests.handlers.test_template import DOCUMENT, FUNCTIONS, TEMPLATE, of_type

BY_PARAMETER = {
    "RequireConsent": ("require_consent", "false", False),
    "TenantRequestsPerSecond": ("requests_per_s", "7", 7.0),
    "TenantRequestBurst": ("request_burst", "8", 8),
    "TenantQueuedJobs": ("max_queued_jobs", "9", 9),
    "MaxBatchRows": ("max_batch_rows", "10", 10),
    "RetentionDays": ("job_retention_days", "11", 11),
    "EngineConcurrency": ("engine_concurrency", "3", 3),
    "QueueWorkers": ("engine_instances", "4", 4),
    "Polly": ("polly", "false", False),
    "BedrockModel": ("bedrock_model_id", "some.model", "some.model"),
}
OF_THE_ENGINE = {"TimestampUrl": "timestamp_url", "ContentProducer": "content_producer"}
OF_ONE_MACHINE = {"state_dir", "public_url", "signing_secret", "num_workers", "num_preview_workers"}
IN_THE_FOLDER = {
    "price_list",
    "tracing",
}  # a file and packages that the functions' folder must hold: docs/operations.md
# Bounds of the product rather than of a deployment: what was tested, on AWS as on one machine.
SAME_EVERYWHERE = {
    *("max_request_bytes", "max_upload_bytes", "max_picture_pixels", "max_audio_s", "max_source_video_s"),
    *("max_text_characters", "max_wait_s", "link_lifetime_s", "max_attempts", "attempt_timeout_s", "lease_s"),
    *("max_step_tries", "max_webhook_tries", "engine_memory_bytes", "batch_window", "max_batch_file_bytes"),
    "batch_slice_s",
}


def engines_environment(name: str = "EngineModel") -> dict[str, Any]:
    environment: dict[str, Any] = of_type("AWS::SageMaker::Model")[name]["PrimaryContainer"]["Environment"]
    return environment


def test_engines_of_previews_differ_from_those_of_videos_in_what_they_serve_alone():
    """Each kind is served by one of the two, so that the containers load no more than they need."""
    videos, previews = engines_environment(), engines_environment("PreviewModel")
    name = variable("engines")
    assert {key for key in videos | previews if videos.get(key) != previews.get(key)} == {name}
    assert videos[name] == {"If": ["WithPreviews", "video", ""]}
    assert {EngineKind(kind) for kind in previews[name].split(",")} == {
        kind for kind in EngineKind if kind.lane is Lane.INTERACTIVE
    }


def variable(setting: str) -> str:
    return f"SPOKESMODEL_{setting.upper()}"


@pytest.mark.parametrize("parameter", BY_PARAMETER)
def test_parameter_is_a_setting_of_every_function(parameter):
    setting, text, value = BY_PARAMETER[parameter]
    for function in load(TEMPLATE, {parameter: text, "EngineImage": "repository:tag"}).functions.values():
        assert getattr(Settings.from_environment(function.environment), setting) == value


def test_limits_are_by_default_what_settings_say():
    deployed = Settings.from_environment(load(TEMPLATE).functions["ApiFunction"].environment)
    for name in ("requests_per_s", "request_burst", "max_queued_jobs", "max_batch_rows", "job_retention_days"):
        assert getattr(deployed, name) == getattr(Settings(), name)
    for parameter, setting in OF_THE_ENGINE.items():
        assert DOCUMENT["Parameters"][parameter]["Default"] == getattr(Settings(), setting)


@pytest.mark.parametrize("parameter", OF_THE_ENGINE)
def test_parameter_is_a_setting_of_the_engine(parameter):
    assert engines_environment()[variable(OF_THE_ENGINE[parameter])] == {"Ref": parameter}


def test_every_setting_is_set_by_the_stack_or_has_a_reason_not_to_be():
    blocks = [DOCUMENT["Globals"]["Function"], *FUNCTIONS.values()]
    given = {name for block in blocks for name in block.get("Environment", {}).get("Variables", {})}
    given |= set(engines_environment())
    unset = {field.name for field in fields(Settings) if variable(field.name) not in given}
    assert unset <= OF_ONE_MACHINE | IN_THE_FOLDER | SAME_EVERYWHERE


def test_engines_environment_is_one_of_settings():
    assert set(engines_environment()) <= {variable(field.name) for field in fields(Settings)}
