"""Every setting, read once from the environment and passed on frozen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from services.domain.errors import InvalidRequest

_PREFIX = "SPOKESMODEL_"
_NOT_OURS = (
    "SPOKESMODEL_WEIGHTS_DIR",  # read by models.weights
    "SPOKESMODEL_TEST_DATA",  # by the tests
    "SPOKESMODEL_URL",  # by clients, as the documentation has them
    "SPOKESMODEL_KEY",
)

_MAX_NAME = 200
_ZERO_IS_FINE = ("SPOKESMODEL_ENGINE_MEMORY_BYTES", "SPOKESMODEL_MAX_WAIT_S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One field a setting; the environment names it ``SPOKESMODEL_`` and the field in capitals.

    Attributes:
        profile: ``local`` or ``aws``: which adapters the bootstrap takes.
        state_dir: One machine: database and objects.
        public_url: Base of signed upload and download links on one machine.
        signing_secret: Signs those links; made at first start on one machine, a secret's value on AWS.
        num_workers: One machine: engine processes.
        num_preview_workers: One machine: engine processes besides, for previews, images and products alone.
        max_step_tries: Failed tries of preparing or dispatching after which the job fails.
        engine_memory_bytes: What one engine process may allocate; 0 sets no limit.
        allow_private_callbacks: Let webhooks and fetches reach this machine and private networks; for development only.
        require_consent: Refuse uploaded faces without a consent on record or a declaration that nobody real is shown.
        table_prefix: AWS: the tables are called this and ``jobs``, ``tenants`` and so on.
        bucket: AWS: where every object lives.
        prepare_queue_url: AWS: the queues' addresses; ``engine_queue_url`` hears engines, ``work_queue_url`` feeds
            workers where ``inference`` is ``queue``.
        inference: AWS: ``sagemaker`` (asynchronous endpoint) or ``queue`` (the same container as a queue's worker).
        endpoint_name: AWS: the video engine's endpoint.
        preview_endpoint_name: AWS: the endpoint of previews, images and products; empty sends them to that of videos.
        engines: Kinds of work that a container serves, separated by commas; empty serves all.
        engine_concurrency: Attempts that one instance runs at once.
        engine_instances: Workers that serve the work queue; with ``sagemaker`` the endpoint itself is asked.
        engine_role_arn: AWS: assumed by the engine for one attempt, with a session policy for that job's objects.
        bedrock_model_id: Writes scripts; empty leaves them to the copy grammar.
        polly: Offer Amazon Polly's neural voices.
        signing_key_id: KMS key that signs Content Credentials; empty uses a key made on this machine.
        certificate_secret: Name of the secret with that key's certificate chain, PEM.
        timestamp_url: An RFC 3161 authority that vouches for the time of signing; empty asks none.
        content_producer: Name or registered code of the service, for the metadata label of what it makes.
        model_checkpoint: Checkpoint of the manifest that makes models to a specification; empty takes the catalogue's.
        refine_checkpoint: Checkpoint of the manifest that repaints seams of previews; empty refuses ``refine``.
        relight_checkpoint: Checkpoint of the manifest that relights pictures; empty refuses ``generative``.
        checkpoints_file: The operator's TOML file of diffusion checkpoints, read by engines.
        price_list: File with the operator's prices (TOML); empty takes the one that comes along.
        tracing: Keep OpenTelemetry traces; needs the extra ``tracing``, and OTEL_* variables say where they go.
    """

    profile: str = "local"
    state_dir: Path = Path(".spokesmodel")
    public_url: str = "http://127.0.0.1:8000"
    signing_secret: str = ""
    allow_private_callbacks: bool = False

    max_request_bytes: int = 256 * 1024
    max_upload_bytes: int = 200 * 1024 * 1024
    max_picture_pixels: int = 64_000_000
    max_audio_s: float = 1800.0
    max_source_video_s: float = 120.0
    max_text_characters: int = 20_000
    max_wait_s: float = 20.0
    link_lifetime_s: int = 3600

    max_attempts: int = 3
    attempt_timeout_s: float = 3600.0
    lease_s: float = 30.0
    max_step_tries: int = 20
    max_webhook_tries: int = 8
    num_workers: int = 1
    num_preview_workers: int = 1
    engine_memory_bytes: int = 4 * 1024**3

    require_consent: bool = True
    requests_per_s: float = 50.0
    request_burst: int = 200
    max_queued_jobs: int = 1000
    max_batch_rows: int = 50_000
    batch_window: int = 200
    max_batch_file_bytes: int = 64 * 1024 * 1024
    batch_poll_s: float = 0.5
    batch_slice_s: float = 2.0
    job_retention_days: int = 90

    table_prefix: str = ""
    bucket: str = ""
    prepare_queue_url: str = ""
    dispatch_queue_url: str = ""
    notify_queue_url: str = ""
    batch_queue_url: str = ""
    engine_queue_url: str = ""
    work_queue_url: str = ""
    inference: str = "queue"
    endpoint_name: str = ""
    preview_endpoint_name: str = ""
    engines: str = ""
    engine_concurrency: int = 1
    engine_instances: int = 1
    engine_role_arn: str = ""
    bedrock_model_id: str = ""
    polly: bool = False
    signing_key_id: str = ""
    certificate_secret: str = ""
    timestamp_url: str = ""
    content_producer: str = "Spokesmodel"
    model_checkpoint: str = ""
    refine_checkpoint: str = ""
    relight_checkpoint: str = ""
    checkpoints_file: str = ""
    price_list: str = ""
    tracing: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Settings from ``SPOKESMODEL_*`` variables; absent ones keep their defaults.

        Raises:
            InvalidRequest: ``unknown_setting``, ``malformed_setting`` or ``out_of_range``, naming the variable.
        """
        by_name = {field.name: field for field in fields(cls)}
        values: dict[str, object] = {}
        for variable, text in environment.items():
            if not variable.startswith(_PREFIX) or variable in _NOT_OURS:
                continue
            name = variable.removeprefix(_PREFIX).lower()
            if name not in by_name:
                raise InvalidRequest(f"{variable} is no setting of this version.", code="unknown_setting")
            values[name] = _parse(variable, text, str(by_name[name].type))
            _check(variable, values[name])
        return cls(**values)  # type: ignore[arg-type]

    def to_environment(self) -> dict[str, str]:
        """Variables from which ``from_environment`` makes these settings."""
        return {f"{_PREFIX}{field.name.upper()}": str(getattr(self, field.name)) for field in fields(self)}


def _check(variable: str, value: object) -> None:
    if variable == "SPOKESMODEL_CONTENT_PRODUCER" and not _is_name(str(value)):
        raise InvalidRequest(f"{variable} is a name or code of 1 to 200 visible characters.", code="out_of_range")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    may_be_zero = variable in _ZERO_IS_FINE
    if not (math.isfinite(value) and (value > 0 or (may_be_zero and value == 0))):
        bound = "0 or more" if may_be_zero else "more than 0"
        raise InvalidRequest(f"{variable}={value} is out of range; {bound}.", code="out_of_range")


def _is_name(text: str) -> bool:
    """It goes into XML, JSON and a film's tags."""
    return 0 < len(text.strip()) <= _MAX_NAME and text.isprintable()


def _parse(variable: str, text: str, type_name: str) -> object:
    try:
        match type_name:
            case "bool":
                return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "Path":
                return Path(text)
            case _:
                return text
    except (KeyError, ValueError) as error:
        raise InvalidRequest(f"{variable}={text!r} is not a {type_name}.", code="malformed_setting") from error
