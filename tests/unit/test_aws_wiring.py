"""The profile ``aws``: complete, strict about settings, and cheap until something is asked for."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import MISSING, fields, replace

import pytest

from services.adapters.aws import wiring
from services.bootstrap import Services, bootstrap
from services.domain.errors import InvalidRequest
from services.settings import Settings

SETTINGS = Settings(
    profile="aws",
    table_prefix="spokesmodel-",
    bucket="bucket",
    inference="queue",
    prepare_queue_url="https://sqs.test/prepare",
    dispatch_queue_url="https://sqs.test/dispatch",
    notify_queue_url="https://sqs.test/notify",
    batch_queue_url="https://sqs.test/batch",
    engine_queue_url="https://sqs.test/engine",
    work_queue_url="https://sqs.test/work",
)


def test_every_needed_port_has_an_adapter():
    needed = {field.name for field in fields(Services) if field.default is MISSING} - {"settings"}
    assert needed - set(wiring.adapters(SETTINGS, {})) == set()


def test_container_is_built_without_asking_aws(monkeypatch):
    """Without region, credentials and network: clients are made at first use."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert bootstrap(SETTINGS).settings == SETTINGS


def test_building_the_container_loads_no_sdk():
    code = (
        "import sys\n"
        "from tests.unit.test_aws_wiring import SETTINGS\n"
        "from services.bootstrap import bootstrap\n"
        "bootstrap(SETTINGS)\n"
        "print({'boto3', 'botocore'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"bucket": ""}, "SPOKESMODEL_BUCKET"),
        ({"work_queue_url": ""}, "SPOKESMODEL_WORK_QUEUE_URL"),
        ({"inference": "sagemaker"}, "SPOKESMODEL_ENDPOINT_NAME"),
        ({"batch_queue_url": ""}, "SPOKESMODEL_BATCH_QUEUE_URL"),
    ],
)
def test_missing_setting_is_refused_by_name(changes, named):
    with pytest.raises(InvalidRequest, match=named) as caught:
        bootstrap(replace(SETTINGS, **changes))
    assert caught.value.code == "missing_setting"


def test_all_missing_settings_are_named_at_once():
    with pytest.raises(InvalidRequest) as caught:
        bootstrap(Settings(profile="aws"))
    assert all(name in caught.value.detail for name in ("BUCKET", "WORK_QUEUE_URL", "PREPARE_QUEUE_URL"))


def test_replaced_part_needs_no_settings():
    assert wiring.complete(replace(SETTINGS, bucket=""), {"objects": object()}).bucket == ""


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"inference": "sagemakr"}, "malformed_setting"), ({"link_lifetime_s": 604_801}, "out_of_range")],
)
def test_impossible_setting_is_refused(changes, code):
    with pytest.raises(InvalidRequest) as caught:
        bootstrap(replace(SETTINGS, **changes))
    assert caught.value.code == code
