"""Every error that the product raises on purpose.

::

    SpokesmodelError
     ├── InvalidRequest     the request is malformed                        400
     ├── Unauthenticated    no key, or one that is not known                401
     ├── Forbidden          known, but not allowed (scope, consent)         403
     ├── NotFound           no such thing for this tenant                   404
     ├── Conflict           the thing is in another state                   409
     ├── ContentRejected    well formed, but cannot be used as it is        422 (413 and 415 by code)
     ├── QuotaExceeded      too much, too often; has ``retry_after_s``      429
     ├── EngineFailed       a model run broke; ``retryable`` says whether   500
     └── Unavailable        a part is missing or not answering              503

Callers branch on the class, programs on ``code``, people read ``detail``.
"""

from __future__ import annotations

from typing import ClassVar


class SpokesmodelError(Exception):
    """Root of the tree.

    Args:
        detail: One or two sentences for a person: what is wrong, with which value, and the way out.
        code: Stable snake_case name for programs, such as ``face_not_found``.
        param: The request field at fault, in dotted form (``voice.speed``), if there is one.
        retryable: Whether the same call may succeed later.
    """

    default_code: ClassVar[str] = "error"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code
        self.param = param
        self.retryable = self.default_retryable if retryable is None else retryable


class InvalidRequest(SpokesmodelError):
    default_code = "invalid_request"


class Unauthenticated(SpokesmodelError):
    default_code = "unauthenticated"


class Forbidden(SpokesmodelError):
    default_code = "forbidden"


class NotFound(SpokesmodelError):
    default_code = "not_found"


class Conflict(SpokesmodelError):
    default_code = "conflict"


class ContentRejected(SpokesmodelError):
    default_code = "content_rejected"


class QuotaExceeded(SpokesmodelError):
    default_code = "quota_exceeded"
    default_retryable = True

    def __init__(self, detail: str, *, retry_after_s: float, code: str | None = None, param: str | None = None) -> None:
        super().__init__(detail, code=code, param=param)
        self.retry_after_s = retry_after_s


class EngineFailed(SpokesmodelError):
    default_code = "engine_failed"


class Unavailable(SpokesmodelError):
    default_code = "unavailable"
    default_retryable = True


class Canceled(SpokesmodelError):
    """Raised inside an engine when its cancel object appears; ends the attempt, never shown as a failure."""

    default_code = "canceled"
