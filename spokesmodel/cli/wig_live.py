"""``spokesmodel wig-live``: a video of somebody becomes one in which they wear the wig, frame by frame."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.errors import ContentRejected, Forbidden, InvalidRequest
from services.domain.product import ProductKind
from spokesmodel.cli.backend import StateDir, backend
from spokesmodel.cli.choices import (
    ConsentOption,
    FaceOption,
    LabelOption,
    PinsOption,
    face_of,
    pins_of,
    product_id_of,
)
from spokesmodel.cli.film_files import refuse_inputs
from spokesmodel.cli.folders import made_folder, require_folder
from spokesmodel.cli.output import AsJson, print_json, progress_bar, told_errors
from spokesmodel.cli.texts import existing_file, is_file

if TYPE_CHECKING:
    from services.settings import Settings
    from spokesmodel.client import Client

_MOST_PX: Final = 3840


def wig_live(
    video: Annotated[Path, typer.Option("--video", metavar="FILE", help="A video of a person.")],
    wig: Annotated[str, typer.Option("--wig", metavar="PHOTO", help="A photo of the wig, or a wig's id or SKU.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.mp4", help="Where the video goes.")],
    size: Annotated[int, typer.Option(metavar="PIXELS", help="Longest side of the video at most.")] = 720,
    pin: PinsOption = None,
    label: LabelOption = True,
    consent: ConsentOption = None,
    synthetic: Annotated[
        bool,
        typer.Option("--synthetic", help="Declare that the video shows no real person. Not kept in the audit log."),
    ] = False,
    wig_consent: Annotated[
        str | None, typer.Option(metavar="ID", help="The consent of the person whose head the wig's photo shows.")
    ] = None,
    wig_synthetic: Annotated[
        bool, typer.Option("--wig-synthetic", help="Declare that the wig's photo shows no real person.")
    ] = False,
    face: FaceOption = "largest",
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Put a wig on somebody who moves. Works here, without the job system; Ctrl-C ends it."""
    with told_errors(as_json):
        from services.settings import Settings

        chosen = face_of(face)
        existing_file(video, param="video")
        if out.suffix.lower() != ".mp4":
            raise InvalidRequest(f"--out is an .mp4 file; {out.name!r} is not.", code="out_not_mp4", param="out")
        if not 64 <= size <= _MOST_PX:
            raise InvalidRequest(f"--size is 64 to {_MOST_PX}; {size} is not.", code="out_of_range", param="size")
        refuse_inputs({"video": out}, {"video": video, "wig": wig})
        require_folder(out.parent)
        with tempfile.TemporaryDirectory(prefix="spokesmodel-", ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch)
            kept = state_dir or folder / "state"
            with backend(kept, with_engines=False) as client:
                _require_right(client, consent, synthetic=synthetic, of="video")
                photo, pins = _photo_of(client, wig, pin, folder, consent=wig_consent, synthetic=wig_synthetic)
            settings = replace(Settings.from_environment(os.environ), state_dir=kept)
            part = folder / "live.mp4"
            with progress_bar(as_json) as on_progress:
                facts = _make(
                    video,
                    photo,
                    pins,
                    part,
                    settings,
                    face=None if chosen == "largest" else int(chosen),
                    size=size,
                    label=label,
                    on_progress=on_progress,
                )
            _moved(part, out)
        if as_json:
            print_json({"files": {"video": str(out)}, "facts": facts})
            return
        speed = facts["num_frames"] / max(facts["engine_cpu_s"], 1e-3)
        typer.echo(f"{out}: {facts['duration_s']:.1f} s, {facts['num_frames']} frames, {speed:.0f} a CPU-second")
        for warning in facts.get("warnings", ()):
            typer.echo(f"note: {warning}", err=True)


def _make(
    video: Path,
    photo: Path,
    pins: Mapping[str, tuple[float, float]],
    part: Path,
    settings: Settings,
    *,
    face: int | None,
    size: int,
    label: bool,
    on_progress: Callable[[str, float], None],
) -> Mapping[str, Any]:
    """The film at ``part``, signed; its facts."""
    import cv2

    from models.serving.cpu_time import cpu_seconds
    from models.serving.signing import media_type_of, sign_outputs, signer_of
    from models.tryon.wig.ingest import ingest_wig
    from models.tryon.wig.live_video import make_live_video
    from services.domain.ids import new_id
    from services.domain.video import Disclosure

    cv2.setNumThreads(1)
    on_progress("wig", 0.0)
    with redirect_stdout(io.StringIO()):  # the matting's library prints advice to its authors, which would spoil --json
        asset = ingest_wig(photo, pins=pins, max_pixels=settings.max_picture_pixels, name="the photo of the wig")
    started_s = cpu_seconds()
    made = make_live_video(
        video,
        asset,
        part,
        face=face,
        disclosure=Disclosure(visible_label=label),
        producer=settings.content_producer,
        content_id=f"{new_id('live')}.video",
        max_side_px=size,
        max_duration_s=settings.max_source_video_s,
        max_pixels=settings.max_picture_pixels,
        on_progress=lambda fraction: on_progress("frames", fraction),
    )
    signer = signer_of(settings)
    sources = (media_type_of(video), media_type_of(photo))
    sign_outputs({"video": part}, {"video": made.marks}, signer, sources=sources, timestamp_url=settings.timestamp_url)
    spent = {"engine_cpu_s": round(cpu_seconds() - started_s, 3), "credentials_trusted": signer.is_trusted}
    return {**made.facts, **spent}


def _moved(part: Path, out: Path) -> None:
    import shutil

    from spokesmodel.client import part_of

    made_folder(out.parent)
    beside = part_of(out)
    try:
        shutil.copyfile(part, beside)
        beside.replace(out)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InvalidRequest(
            f"{out} cannot be written: {error.strerror}.", code="out_not_writable", param="out"
        ) from error


def _photo_of(
    client: Client, wig: str, pins: list[str] | None, folder: Path, *, consent: str | None, synthetic: bool
) -> tuple[Path, dict[str, tuple[float, float]]]:
    """The wig's photo from the front and its pins, from a file or the catalogue.

    Raises:
        InvalidRequest: ``product_not_found``.
        ContentRejected: ``product_not_ready``, ``product_rejected``.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    if is_file(wig):
        _require_right(client, consent, synthetic=synthetic, of="wig")
        return Path(wig), {name: (x, y) for name, (x, y) in pins_of(pins).items()}
    product = client.get(f"/v1/wigs/{product_id_of(client, wig, ProductKind.WIG)}")
    if product["state"] != "ready":
        code = "product_rejected" if product["state"] == "rejected" else "product_not_ready"
        raise ContentRejected(f"{product['id']} is {product['state']}.", code=code, param="wig")
    if product["consent_id"] is not None:
        _require_right(client, product["consent_id"], synthetic=False, of="wig")
    front = next(photo for photo in product["photos"] if photo["view"] == "front")
    client.download(front["url"], folder / "wig")
    return folder / "wig", {name: (x, y) for name, (x, y) in front["pins"].items()}


def _require_right(client: Client, consent: str | None, *, synthetic: bool, of: str) -> None:
    """Nothing, when somebody's face may be used.

    Raises:
        InvalidRequest: ``exactly_one``.
        NotFound: ``consent_not_found``.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    if consent and synthetic:
        raise InvalidRequest("Either a consent, or the word that nobody real is shown.", code="exactly_one", param=of)
    if synthetic:
        return
    if not consent:
        raise Forbidden(
            f"The {of} may show a person: give their consent, or declare that nobody real is shown.",
            code="consent_required",
            param=of,
        )
    found = client.get(f"/v1/consents/{consent}")
    if found["revoked_at"]:
        raise Forbidden(f"{consent} was revoked.", code="consent_revoked", param=of)
    if found["expires_at"] and datetime.fromisoformat(found["expires_at"]) <= datetime.now(UTC):
        raise Forbidden(f"{consent} has expired.", code="consent_expired", param=of)
    if "face" not in found["likenesses"]:
        raise Forbidden(f"{consent} does not cover the face.", code="consent_required", param=of)
