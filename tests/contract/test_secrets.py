"""What every store of secrets does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.secrets import SecretsManagerSecrets
from services.adapters.local.secrets import FileSecrets
from services.domain.errors import NotFound, Unavailable
from services.ports.secrets import Secrets

Store = Callable[[str, str], None]


@pytest.fixture(params=["files", "aws"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Secrets, Store]:
    if request.param == "files":

        def write(name: str, value: str) -> None:
            path = tmp_path / name
            path.touch(mode=0o600)
            path.write_text(value, encoding="utf-8")

        return FileSecrets(tmp_path), write
    client = request.getfixturevalue("aws").client("secretsmanager")
    return SecretsManagerSecrets(Clients()), lambda name, value: client.create_secret(Name=name, SecretString=value)


@pytest.mark.parametrize("value", ["s3cret", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "Ü 图"])
def test_value_comes_back(stored, value, request):
    secrets, store = stored
    name = f"secret-{abs(hash(request.node.name))}"
    store(name, value)
    assert secrets.get(name) == value


@pytest.mark.parametrize("name", ["no-such-secret", "../../etc/passwd", "", "a/../b"])
def test_absent_secret_is_not_found(stored, name):
    secrets, _ = stored
    with pytest.raises(NotFound) as caught:
        secrets.get(name)
    assert caught.value.code == "secret_not_found"


def test_rotated_secret_is_noticed(aws):
    client, now = aws.client("secretsmanager"), [0.0]
    client.create_secret(Name=aws.name, SecretString="old")
    secrets = SecretsManagerSecrets(Clients(), seconds=lambda: now[0])
    assert secrets.get(aws.name) == "old"
    client.put_secret_value(SecretId=aws.name, SecretString="new")
    now[0] = 299.0
    assert secrets.get(aws.name) == "old"
    now[0] = 301.0
    assert secrets.get(aws.name) == "new"


def test_secret_of_bytes_is_no_text(aws):
    aws.client("secretsmanager").create_secret(Name=aws.name, SecretBinary=b"\xff")
    with pytest.raises(NotFound):
        SecretsManagerSecrets(Clients()).get(aws.name)


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
