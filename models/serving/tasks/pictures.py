"""What the tasks that make pictures share: their loading, their storyboards, a product's files, signing and storing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from models import weights
from models.serving.context import TaskContext, TaskResult
from models.serving.signing import media_type_of, sign_outputs
from services.domain.errors import ContentRejected, EngineFailed, SpokesmodelError, Unavailable
from services.domain.model_choice import ModelSpecification
from services.domain.picture_storyboards import PICTURE_STORYBOARD_VERSION, ModelShot
from services.domain.wire import decode
from services.ports.signer import Signer

PERCEPTION_WEIGHTS: Final = (
    "face-detection-short",
    "face-detection-full",
    "face-mesh",
    "person-matte",
    "pose-detection",
    "pose-landmarks",
)
_FETCH_SHARE: Final = 0.02  # of an attempt's progress
_STORE_SHARE: Final = 0.08
_MAX_ASSET_BYTES: Final = 512 * 1024**2  # unpacked
_MAX_ASSET_FILES: Final = 16


class Made(Protocol):
    """What pictures are once they are made: ``models.tryon.previews.Previews`` and its like."""

    @property
    def files(self) -> Mapping[str, Path]: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def usage(self) -> Mapping[str, float]: ...
    @property
    def marks(self) -> Mapping[str, Any]: ...


class _Versioned(Protocol):
    @property
    def version(self) -> int: ...


_Board = TypeVar("_Board", bound=_Versioned)


def load_pictures(import_parts: Callable[[], None]) -> None:
    """Check weights and packages, and load the networks that look at pictures.

    Args:
        import_parts: Imports what the task needs, so that its first attempt does not wait for that.

    Raises:
        Unavailable: ``weights_missing``, ``engine_not_installed``.
    """
    for name in PERCEPTION_WEIGHTS:
        weights.path(name)
    try:
        import c2pa  # noqa: F401
        import cv2

        from models.perception.analyst import shared_analyst

        import_parts()
    except ImportError as error:
        raise Unavailable(
            f"The packages of the picture engines are not complete: {error.name or 'a part'} cannot be imported.",
            code="engine_not_installed",
            retryable=False,
        ) from error
    # A worker makes one preview at a time and each core has a worker: threads would only wait for each other.
    cv2.setNumThreads(1)
    shared_analyst()


def read_storyboard(board: type[_Board], context: TaskContext) -> _Board:
    """The attempt's storyboard.

    Raises:
        EngineFailed: ``storyboard_too_new`` (retryable).
    """
    storyboard = decode(board, context.objects.read(context.request.storyboard_key))
    if storyboard.version > PICTURE_STORYBOARD_VERSION:
        raise EngineFailed(
            f"The storyboard has version {storyboard.version}; this engine knows {PICTURE_STORYBOARD_VERSION}.",
            code="storyboard_too_new",
            retryable=True,  # a deployment is under way: another engine may be newer
        )
    return storyboard


class Fetched:
    """The objects that a storyboard names, as files for as long as the work goes on."""

    def __init__(self, context: TaskContext, files: ExitStack) -> None:
        self._context = context
        self._files = files
        self._types: list[str] = []

    @property
    def source_types(self) -> tuple[str, ...]:
        """Media types of what was fetched, for the credentials of what is made of it."""
        return tuple(self._types)

    def picture(self, key: str) -> Path:
        """The picture at ``key``."""
        path = self._files.enter_context(self._context.objects.local_copy(key))
        self._types.append(media_type_of(path))
        return path

    def model(
        self,
        shot: ModelShot,
        *,
        param: str = "model",
        generate: Callable[[ModelSpecification, Path], Path] | None = None,
    ) -> Path:
        """The photo of whoever wears the product.

        Args:
            generate: Makes a picture to a specification at a path; None where no checkpoint is configured for that.

        Raises:
            Unavailable: ``checkpoint_not_configured``.
        """
        if shot.key is not None:
            return self.picture(shot.key)
        if generate is None or shot.specification is None:
            raise Unavailable(
                "The catalogue has no such model, and no checkpoint that makes models is configured here.",
                code="checkpoint_not_configured",
                param=f"{param}.specification",
                retryable=False,
            )
        self._types.append("image/png")
        return generate(shot.specification, self._context.folder / "model.png")

    def asset_folder(self, key: str, number: int) -> Path:
        """The folder of an asset that an earlier job took in and packed.

        Raises:
            ContentRejected: ``product_asset_unreadable``.
        """
        folder = self._context.folder / f"asset-{number}"
        unpack_asset(self._files.enter_context(self._context.objects.local_copy(key)), folder)
        self._types.append("image/png")
        return folder


def make_pictures(
    context: TaskContext,
    make: Callable[[Fetched, Callable[[str, float], None]], Made],
    *,
    signer: Signer,
    timestamp_url: str,
) -> TaskResult:
    """Fetch, make, sign and store; nothing that ``make`` made leaves unsigned.

    Args:
        make: Makes the files of objects that it fetches, and reports stage and fraction of its own part.
    """
    signer.certificate_chain_pem()  # a key that cannot be used is told before the work, not after
    context.on_progress("fetching", 0.0)
    with ExitStack() as files:
        fetched = Fetched(context, files)
        made = make(
            fetched,
            lambda stage, fraction: context.on_progress(
                stage, _FETCH_SHARE + fraction * (1 - _FETCH_SHARE - _STORE_SHARE)
            ),
        )
    context.on_progress("storing", 1 - _STORE_SHARE)
    sign_outputs(made.files, made.marks, signer, sources=fetched.source_types, timestamp_url=timestamp_url)
    outputs = []
    for role, path in made.files.items():
        context.check_canceled()
        outputs.append(context.objects.store(role, path))
    return TaskResult(
        outputs=tuple(outputs), facts={**made.facts, "credentials_trusted": signer.is_trusted}, usage=made.usage
    )


def pack_asset(folder: Path, path: Path) -> Path:
    """The files of ``folder`` as a ZIP at ``path``; the same files give the same bytes."""
    with ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.writestr(_entry(file.name), file.read_bytes())
    return path


def unpack_asset(path: Path, folder: Path) -> None:
    """What ``pack_asset`` packed, into ``folder``, which is made.

    Raises:
        ContentRejected: ``product_asset_unreadable``: it is damaged, or none of ours.
    """
    folder.mkdir()
    try:
        with ZipFile(path) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            is_ours = len(names) <= _MAX_ASSET_FILES and all(Path(name).name == name for name in names)
            if not is_ours or sum(entry.file_size for entry in entries) > _MAX_ASSET_BYTES:
                raise BadZipFile("no asset")
            archive.extractall(folder)
    except (BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ContentRejected(
            "What the catalogue keeps of the product cannot be read; take its photos in again.",
            code="product_asset_unreadable",
        ) from error


def about(error: SpokesmodelError, param: str) -> SpokesmodelError:
    """The error of a part that does not know which field of the request its file came from."""
    return type(error)(error.detail, code=error.code, param=param, retryable=error.retryable)


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # its time is that of 1980: no two packings differ
    entry.compress_type = ZIP_DEFLATED
    return entry
