"""``spokesmodel video``: a portrait and a text, brief or recording become a talking video."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from services.domain.video import Aspect, LabelCorner, SubtitleMode
from spokesmodel.cli.backend import StateDir, backend, run_job
from spokesmodel.cli.film_files import beside, refuse_foreign, refuse_inputs, save_outputs
from spokesmodel.cli.folders import require_folder
from spokesmodel.cli.output import AsJson, print_json, told_errors
from spokesmodel.cli.texts import TEXT_HELP, existing_file, is_file, read_brief, read_text

if TYPE_CHECKING:
    from spokesmodel.client import Client

_DEFAULT_VOICE: Final = "en-us"


class Fps(StrEnum):
    FPS_25 = "25"
    FPS_30 = "30"
    FPS_50 = "50"
    FPS_60 = "60"


def video(
    portrait: Annotated[
        str, typer.Option("--portrait", metavar="PICTURE", help="A picture or short video of a person, or an avatar.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.mp4",
            help="Where the video goes; FILE.srt, FILE.vtt, FILE-poster.jpg and FILE-script.txt go beside. "
            "An earlier film of that name is replaced; a file that another option names never is.",
        ),
    ],
    text: Annotated[str | None, typer.Option(help=f"What is said: {TEXT_HELP}.")] = None,
    brief: Annotated[
        str | None, typer.Option(metavar="FILE", help="A brief as JSON; a script is written of it.")
    ] = None,
    audio: Annotated[Path | None, typer.Option(metavar="FILE", help="Recorded speech: sound or video.")] = None,
    transcript: Annotated[str | None, typer.Option(help=f"The words of the recording: {TEXT_HELP}.")] = None,
    voice: Annotated[
        str | None, typer.Option(help=f"A voice of `spokesmodel voices`. [default: {_DEFAULT_VOICE}]")
    ] = None,
    language: Annotated[str | None, typer.Option(help="BCP 47; default: the voice's own.")] = None,
    speed: Annotated[float, typer.Option(help="Factor on the voice's rate, 0.5 to 2.")] = 1.0,
    pitch: Annotated[float, typer.Option(help="Semitones, -12 to 12.")] = 0.0,
    volume: Annotated[float, typer.Option(help="Factor, 0 to 2.")] = 1.0,
    pause: Annotated[float, typer.Option(help="Extra seconds of silence after each sentence, 0 to 3.")] = 0.0,
    aspect: Annotated[Aspect, typer.Option(help="Shape of the picture.")] = Aspect.PORTRAIT,
    fps: Annotated[Fps, typer.Option(help="Frames a second.")] = Fps.FPS_25,
    height: Annotated[int | None, typer.Option(metavar="PIXELS", help="Default: the aspect's usual size.")] = None,
    background: Annotated[str, typer.Option(help="original, blur, #rrggbb, or a picture's path.")] = "original",
    subtitles: Annotated[SubtitleMode, typer.Option(help="In the picture and as files, as files, or none.")] = (
        SubtitleMode.FILE
    ),
    label: Annotated[
        bool, typer.Option("--label/--no-label", help="Words in the picture that say that AI made it.")
    ] = True,
    label_corner: Annotated[
        LabelCorner | None, typer.Option(help="Where they are wanted. [default: where no face is]", show_default=False)
    ] = None,
    consent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The consent of the person in the picture (`spokesmodel consents`)."),
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Declare that the picture shows no real person; kept in the audit log.")
    ] = False,
    face: Annotated[str, typer.Option(help="largest, or the index of the face from the left.")] = "largest",
    seed: Annotated[int, typer.Option(help="Fixes head motion and blinks.")] = 0,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a talking video. Ctrl-C cancels it."""
    with told_errors(as_json):
        _exactly_one(text, brief, audio)
        for option, number in (("speed", speed), ("pitch", pitch), ("volume", volume), ("pause", pause)):
            if not math.isfinite(number):
                raise InvalidRequest(f"--{option} is a number; {number} is none.", code="out_of_range", param=option)
        targets = _writable(out)
        given = {"portrait": portrait, "text": text, "brief": brief, "audio": audio, "transcript": transcript}
        refuse_inputs(targets, {**given, "background": background})
        hidden = ("subtitles_srt", "subtitles_vtt") if subtitles is SubtitleMode.NONE else ()
        refuse_foreign(targets, (role for role in targets if role not in hidden))
        if not _is_named(background):
            existing_file(Path(background), param="background")
        voice_body = {
            "voice_id": voice or _DEFAULT_VOICE,
            "speed": speed,
            "pitch": pitch,
            "volume": volume,
            "pause_s": pause,
        }
        speech: dict[str, Any] = {"language": language} if language else {}
        if text is not None:
            speech |= {"text": read_text(text, param="text"), "voice": voice_body}
        if brief is not None:
            speech |= {"brief": read_brief(brief), "voice": voice_body}
        if audio is not None:
            existing_file(audio, param="audio")
        if transcript is not None:
            speech["transcript"] = read_text(transcript, param="transcript")
        body: dict[str, Any] = {
            "speech": speech,
            "frame": {"aspect": aspect.value, "fps": int(fps.value), **({"height_px": height} if height else {})},
            "subtitles": subtitles.value,
            "disclosure": {"visible_label": label, "corner": label_corner.value if label_corner else None},
            "seed": seed,
        }
        with backend(state_dir, engines=(EngineKind.VIDEO,)) as client:
            presenter = presenter_of(client, portrait)
            right = {**({"consent_id": consent} if consent else {}), **({"synthetic": True} if synthetic else {})}
            body["presenter"] = {**presenter, **right, "face": _face(face)}
            body["background"] = _background(client, background)
            if audio is not None:
                speech["audio_upload_id"] = client.upload(audio, fallback_type="audio/wav")
            job = run_job(client, "/v1/videos", body, as_json=as_json)
            files = save_outputs(client, job, targets)
        _tell(job, files, as_json=as_json)


def _tell(job: dict[str, Any], files: dict[str, Path], *, as_json: bool) -> None:
    facts = job["result"]["facts"]
    if as_json:
        print_json({"job_id": job["id"], "files": {role: str(path) for role, path in files.items()}, "facts": facts})
        return
    size = f"{facts.get('width_px')}x{facts.get('height_px')}"
    typer.echo(f"{files['video']}: {facts.get('duration_s', 0):.1f} s, {size}, {facts.get('fps')} fps")
    for role, path in files.items():
        if role != "video":
            typer.echo(f"{path}: {role}")
    for warning in facts.get("warnings", ()):
        typer.echo(f"note: {warning}", err=True)


def presenter_of(client: Client, portrait: str) -> dict[str, str]:
    """The request's presenter: the file at ``portrait``, sent, or the avatar of that id or name.

    Raises:
        InvalidRequest: ``portrait_not_found``.
    """
    if is_file(portrait):
        return {"upload_id": client.upload(Path(portrait), fallback_type="image/jpeg")}
    known = list(client.items("/v1/avatars"))
    for avatar in known:
        if portrait in (avatar["id"], avatar["name"]) or portrait.removeprefix("avatar-") == avatar["name"].lower():
            return {"avatar_id": avatar["id"]}
    names = ", ".join(avatar["name"] for avatar in known)
    raise InvalidRequest(
        f"{portrait} is neither a file nor an avatar; avatars: {names}.", code="portrait_not_found", param="portrait"
    )


def _background(client: Client, background: str) -> dict[str, str]:
    if background.startswith("#"):
        return {"kind": "color", "color": background}
    if _is_named(background):
        return {"kind": background}
    return {"kind": "image", "upload_id": client.upload(Path(background), fallback_type="image/jpeg")}


def _is_named(background: str) -> bool:
    return background in ("original", "blur") or background.startswith("#")


def _face(face: str) -> str | int:
    if face == "largest":
        return face
    if not face.isdecimal():
        raise InvalidRequest(f"{face!r} is neither `largest` nor an index.", code="out_of_range", param="face")
    return int(face)


def _exactly_one(text: str | None, brief: str | None, audio: Path | None) -> None:
    if sum(option is not None for option in (text, brief, audio)) != 1:
        raise InvalidRequest("Give exactly one of --text, --brief and --audio.", code="exactly_one", param="speech")


def _writable(out: Path) -> dict[str, Path]:
    if out.is_dir():
        out = out / "video.mp4"
    if out.suffix.lower() != ".mp4":
        raise InvalidRequest(f"--out is an .mp4 file; {out.name!r} is not.", code="out_not_mp4", param="out")
    require_folder(out.parent)
    return beside(out)
