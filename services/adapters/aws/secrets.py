"""Secret values in AWS Secrets Manager."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from services.adapters.aws.clients import Clients, error_code, translated
from services.domain.errors import NotFound

_FRESH_S: Final = 300.0


class SecretsManagerSecrets:
    """``services.ports.secrets.Secrets``; a value is asked for again after five minutes, so that it can be rotated.

    Args:
        seconds: A clock that only goes forward.
    """

    def __init__(self, clients: Clients, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._clients = clients
        self._seconds = seconds
        self._lock = threading.Lock()
        self._values: dict[str, tuple[str, float]] = {}

    def get(self, name: str) -> str:
        if not name:
            raise NotFound("A secret has a name.", code="secret_not_found")
        now = self._seconds()
        with self._lock:
            value, since = self._values.get(name, ("", float("-inf")))
        if now - since < _FRESH_S:
            return value
        value = self._asked(name)
        with self._lock:
            self._values[name] = value, now
        return value

    def _asked(self, name: str) -> str:
        from botocore.exceptions import ClientError

        with translated("the secret store", code="secrets_unavailable"):
            try:
                answer = self._clients.get("secretsmanager").get_secret_value(SecretId=name)
            except ClientError as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise
                raise NotFound(f"There is no secret {name!r}.", code="secret_not_found") from error
        if "SecretString" not in answer:
            raise NotFound(f"The secret {name!r} holds no text.", code="secret_not_found")
        return str(answer["SecretString"])
