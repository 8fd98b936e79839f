"""What every store of secrets does."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Protocol

import boto3
import pytest
from botocore.config import Config

from services.adapters.aws.clients import Clients
from services.adapters.aws.secrets import SecretsManagerSecrets
from services.adapters.local.secrets import FileSecrets
from services.domain.errors import NotFound, Unavailable
from services.ports.secrets import Secrets
from tests.emulator import Aws
from tests.fakes.secrets import FakeSecrets
from tests.unit.aws.test_attempt_session import OneClient

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
FRESH_S = 300.0


class Safe(Protocol):
    """A store and its other side: who puts secrets in, and what can go wrong."""

    secrets: Secrets
    name: str

    def store(self, value: str) -> None:
        """Put it in as ``name``, over what was there."""

    def pass_time(self, seconds: float) -> None: ...

    def remove(self) -> None: ...

    def break_down(self) -> None:
        """From now on nothing can be read."""


class Fake:
    name = "a-secret"

    def __init__(self) -> None:
        self.secrets = FakeSecrets()

    def store(self, value: str) -> None:
        self.secrets.values[self.name] = value

    def pass_time(self, seconds: float) -> None:
        return

    def remove(self) -> None:
        del self.secrets.values[self.name]

    def break_down(self) -> None:
        self.secrets.is_reachable = False


class Files:
    name = "a-secret"

    def __init__(self, folder: Path) -> None:
        self.secrets, self._path = FileSecrets(folder), folder / self.name

    def store(self, value: str) -> None:
        self._path.touch(mode=0o600)
        self._path.write_text(value, encoding="utf-8")

    def pass_time(self, seconds: float) -> None:
        return

    def remove(self) -> None:
        self._path.unlink()

    def break_down(self) -> None:
        self._path.unlink()
        self._path.mkdir(mode=0o700)  # which cannot be read as a file, by root either


class SecretsManager:
    def __init__(self, aws: Aws) -> None:
        self._client, self._now, self.name = aws.client("secretsmanager"), 0.0, aws.name
        self._broken: Any = None
        self.secrets = SecretsManagerSecrets(Clients(), seconds=lambda: self._now)

    def store(self, value: str) -> None:
        try:
            self._client.create_secret(Name=self.name, SecretString=value)
        except self._client.exceptions.ResourceExistsException:
            self._client.put_secret_value(SecretId=self.name, SecretString=value)

    def pass_time(self, seconds: float) -> None:
        self._now += seconds

    def remove(self) -> None:
        self._client.delete_secret(SecretId=self.name, ForceDeleteWithoutRecovery=True)

    def break_down(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{probe.getsockname()[1]}"
        config = Config(retries={"total_max_attempts": 1})
        nobody = boto3.client("secretsmanager", endpoint_url=address, config=config)
        self.secrets = SecretsManagerSecrets(OneClient(nobody), seconds=lambda: self._now)


@pytest.fixture(params=["fake", "files", "aws"])
def safe(request: pytest.FixtureRequest, tmp_path: Path) -> Safe:
    if request.param == "fake":
        return Fake()
    if request.param == "files":
        return Files(tmp_path)
    return SecretsManager(request.getfixturevalue("aws"))


@pytest.mark.parametrize("value", ["s3cret", PEM, "Ü 图", "with\ttabs and = signs", "x" * 60_000])
def test_value_comes_back_as_often_as_it_is_asked_for(safe, value):
    safe.store(value)
    assert [safe.secrets.get(safe.name) for _ in range(2)] == [value, value]


@pytest.mark.parametrize("name", ["no-such-secret", "../../etc/passwd", "/etc/passwd", "", "a/../b"])
def test_absent_secret_is_not_found(safe, name):
    safe.store("another's value")
    with pytest.raises(NotFound) as caught:
        safe.secrets.get(name)
    assert caught.value.code == "secret_not_found"


def test_secret_that_was_absent_is_found_as_soon_as_it_is_there(safe):
    with pytest.raises(NotFound):
        safe.secrets.get(safe.name)
    safe.store("value")
    assert safe.secrets.get(safe.name) == "value"


def test_rotated_value_is_noticed_within_five_minutes(safe):
    safe.store("old")
    assert safe.secrets.get(safe.name) == "old"
    safe.store("new")
    safe.pass_time(FRESH_S + 1)
    assert safe.secrets.get(safe.name) == "new"


def test_removed_secret_is_gone_within_five_minutes(safe):
    safe.store("value")
    assert safe.secrets.get(safe.name) == "value"
    safe.remove()
    safe.pass_time(FRESH_S + 1)
    with pytest.raises(NotFound) as caught:
        safe.secrets.get(safe.name)
    assert caught.value.code == "secret_not_found"


def test_store_that_cannot_be_read_may_be_asked_later_and_tells_no_value(safe):
    safe.store("s3cret")
    safe.break_down()
    with pytest.raises(Unavailable) as caught:
        safe.secrets.get(safe.name)
    assert (caught.value.code, caught.value.retryable) == ("secrets_unavailable", True)
    assert "s3cret" not in str(caught.value)


def test_value_of_secrets_manager_is_not_asked_for_again_within_five_minutes(aws):
    safe = SecretsManager(aws)
    safe.store("old")
    assert safe.secrets.get(safe.name) == "old"
    safe.store("new")
    safe.pass_time(FRESH_S - 1)
    assert safe.secrets.get(safe.name) == "old"


def test_secret_of_bytes_is_no_text(aws, tmp_path):
    aws.client("secretsmanager").create_secret(Name=aws.name, SecretBinary=b"\xff")
    (tmp_path / aws.name).touch(mode=0o600)
    (tmp_path / aws.name).write_bytes(b"\xff")
    for secrets in (SecretsManagerSecrets(Clients()), FileSecrets(tmp_path)):
        with pytest.raises(NotFound, match="no text") as caught:
            secrets.get(aws.name)
        assert caught.value.code == "secret_not_found"


def test_file_ends_with_a_line_as_editors_write_it(tmp_path):
    (tmp_path / "name").touch(mode=0o600)
    (tmp_path / "name").write_text("value\n")
    assert FileSecrets(tmp_path).get("name") == "value"


def test_file_that_others_can_read_is_refused(tmp_path):
    (tmp_path / "name").write_text("value")
    (tmp_path / "name").chmod(0o644)
    with pytest.raises(Unavailable, match="chmod 600") as caught:
        FileSecrets(tmp_path).get("name")
    assert not caught.value.retryable
