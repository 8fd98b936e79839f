"""boto3's clients, and their errors in our words."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from services.domain.errors import Unavailable

_MAX_CONNECTIONS: Final = 32  # botocore's 10 make threads of one function wait for each other
_MAX_TRIES: Final = 4
# A script is written while its client waits, twice when the first is refused; a template serves where a model does not.
_MAX_TRIES_OF: Final = {"bedrock-runtime": 1}
# An API function has 28 s in all: three lost answers of a table still leave room for one that comes.
_CONNECT_TIMEOUT_S: Final = 2.0
_READ_TIMEOUT_S: Final = {"s3": 60.0, "bedrock-runtime": 12.0, "polly": 30.0, "sqs": 25.0}
_DEFAULT_READ_TIMEOUT_S: Final = 5.0

_THROTTLED: Final = frozenset(
    {
        "KmsThrottled",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionCanceledException",  # by throttling; failed conditions are told apart before
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_BAD_CREDENTIALS: Final = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "InvalidToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"})


class Clients:
    """The clients of one session, each made when first asked for, once.

    Region, credentials and an emulator's address (``AWS_ENDPOINT_URL``) are found by boto3's own rules.

    Args:
        session: A ``boto3.Session``, such as one with the credentials of an assumed role; None makes the default one.
    """

    def __init__(self, session: Any = None) -> None:
        self._session = session
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()  # a session may not be used by two threads at once; its clients may

    def get(self, service: str) -> Any:
        """boto3's low-level client of ``service`` (``dynamodb``, ``s3`` ...); threads may share it.

        Raises:
            Unavailable: ``aws_not_configured`` when no region is set.
        """
        client = self._clients.get(service)
        if client is not None:
            return client
        with self._lock, translated(service):
            if service not in self._clients:
                self._clients[service] = self._made(service)
            return self._clients[service]

    def _made(self, service: str) -> Any:
        import boto3
        from botocore.config import Config

        if self._session is None:
            self._session = boto3.Session()
        config = Config(
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S.get(service, _DEFAULT_READ_TIMEOUT_S),
            max_pool_connections=_MAX_CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": _MAX_TRIES_OF.get(service, _MAX_TRIES)},
            signature_version="s3v4" if service == "s3" else None,  # links of the old kind sign no headers
            # The global address redirects for a day after a bucket was made, which no signed link survives.
            s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
            tcp_keepalive=True,  # a function sleeps between events, and its connections must not look alive when dead
        )
        # Containers are told their region as AWS_REGION, which boto3 alone among Amazon's SDKs does not read.
        region = self._session.region_name or os.environ.get("AWS_REGION")
        return self._session.client(service, region_name=region, config=config)


@contextmanager
def translated(part: str, *, code: str = "store_unavailable") -> Iterator[None]:
    """Turns what boto3 raises into ``Unavailable``; what a caller expects is to be caught inside.

    Details name the operation and the vendor's code, never its message, which may hold ARNs and keys.

    Args:
        part: What is not usable, for people: ``the table jobs``.
        code: The error's code when nothing more special is known.

    Raises:
        Unavailable: ``aws_throttled``, ``aws_credentials``, ``aws_denied``, ``aws_not_configured`` or ``code``.
    """
    from botocore import exceptions as botocore

    try:
        yield
    except botocore.ClientError as error:
        raise _answered(error, part, code) from error
    except (botocore.NoCredentialsError, botocore.PartialCredentialsError, botocore.CredentialRetrievalError) as error:
        raise Unavailable(
            f"There are no AWS credentials for {part}; give the process a role, or set AWS_PROFILE.",
            code="aws_credentials",
            retryable=False,
        ) from error
    except (botocore.NoRegionError, botocore.ProfileNotFound, botocore.ConfigParseError) as error:
        raise Unavailable(
            f"AWS is not configured for {part}: set AWS_REGION, and check AWS_PROFILE.",
            code="aws_not_configured",
            retryable=False,
        ) from error
    except botocore.ParamValidationError:  # a mistake of ours, not the vendor's
        raise
    except botocore.BotoCoreError as error:  # timeouts, refused and broken connections
        raise Unavailable(f"{_capital(part)} did not answer ({type(error).__name__}).", code=code) from error


def error_code(error: Exception) -> str:
    """The vendor's code in a botocore ``ClientError``; for S3's HEAD the HTTP status."""
    response: dict[str, Any] = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _answered(error: Any, part: str, code: str) -> Unavailable:
    vendor_code = error_code(error)
    said = f"({error.operation_name}: {vendor_code})"
    if vendor_code in _THROTTLED:
        return Unavailable(f"{_capital(part)} is asked too often just now {said}.", code="aws_throttled")
    if vendor_code in _BAD_CREDENTIALS:
        return Unavailable(
            f"AWS does not take our credentials for {part} {said}.", code="aws_credentials", retryable=False
        )
    if vendor_code in _DENIED:
        return Unavailable(f"Our role may not use {part} so {said}.", code="aws_denied", retryable=False)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    is_ours = 400 <= status < 500  # a table or bucket that is not there, or a request that it does not take
    return Unavailable(f"{_capital(part)} is not usable {said}.", code=code, retryable=not is_ours)


def _capital(part: str) -> str:
    return part[:1].upper() + part[1:]
