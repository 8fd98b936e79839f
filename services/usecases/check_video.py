"""The rules of a video request that need nothing but the request; limits come from the settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.domain.errors import InvalidRequest
from services.domain.outside_url import CALLBACK, SOURCE, parse_outside_url
from services.domain.video import Aspect, FrameSettings, SpokenText, VideoRequest, VoiceSettings
from services.settings import Settings
from services.usecases.check_background import OF_VIDEOS, check_background
from services.usecases.check_choice import exactly_one
from services.usecases.check_text import (
    check_brief,
    check_characters,
    check_in_range,
    check_language,
    check_text,
)

_FPS: Final = (25, 30, 50, 60)
_MAX_CALLBACK_ID: Final = 256
_MAX_PRONUNCIATIONS: Final = 500
_MIN_HEIGHT_PX: Final = 128
_MAX_SIDE_PX: Final = 3840
_MAX_FACE: Final = 1000
_MAX_SEED: Final = 2**63 - 1


def check_video(request: VideoRequest, settings: Settings) -> None:
    """Nothing, when the request keeps every rule.

    Raises:
        InvalidRequest: ``exactly_one``, ``out_of_range``, ``frame_size``, ``malformed_color``, ``malformed_language``,
            ``missing``, ``not_used`` (a field that the chosen kind would ignore).
        ContentRejected: ``nothing_to_say``, ``text_too_long``, ``control_character``, ``source_url_refused``.
    """
    presenter = request.presenter
    exactly_one(
        "presenter", avatar_id=presenter.avatar_id, upload_id=presenter.upload_id, source_url=presenter.source_url
    )
    if request.presenter.face is not None:
        check_in_range("presenter.face", request.presenter.face, 0, _MAX_FACE)
    speech = request.speech
    if speech.language is not None:
        check_language(speech.language, param="speech.language")
    if isinstance(speech, SpokenText):
        exactly_one("speech", text=speech.text, brief=speech.brief)
        _check_voice(speech.voice)
        if speech.text is not None:
            check_text(speech.text, settings, param="speech.text")
        if speech.brief is not None:
            check_brief(speech.brief, settings, param="speech.brief")
    else:
        exactly_one("speech", audio_upload_id=speech.upload_id, audio_source_url=speech.source_url)
        if speech.transcript is not None:
            check_text(speech.transcript, settings, param="speech.transcript")
    if request.frame.fps not in _FPS:
        known = ", ".join(map(str, _FPS))
        raise InvalidRequest(
            f"fps is {request.frame.fps}; possible are {known}.", code="out_of_range", param="frame.fps"
        )
    _check_frame_size(request.frame)
    check_background(request.background, settings, kinds=OF_VIDEOS)
    check_in_range("seed", request.seed, 0, _MAX_SEED)
    for param, url in sources_of(request).items():
        purpose = replace(SOURCE, param=param)
        parse_outside_url(url, allow_private=settings.allow_private_callbacks, purpose=purpose)


def sources_of(request: VideoRequest) -> dict[str, str]:
    """URLs to be read, by the request field that names them."""
    speech = request.speech
    found = {
        "presenter.source_url": request.presenter.source_url,
        "speech.audio_source_url": None if isinstance(speech, SpokenText) else speech.source_url,
    }
    return {param: url for param, url in found.items() if url is not None}


def check_callback(callback_url: str | None, callback_id: str | None, settings: Settings) -> None:
    """Nothing, when the callback may be made.

    Raises:
        InvalidRequest: ``out_of_range``.
        ContentRejected: ``callback_url_refused``.
    """
    if callback_id is not None and len(callback_id) > _MAX_CALLBACK_ID:
        raise InvalidRequest(
            f"callback_id has {len(callback_id)} characters; the limit is {_MAX_CALLBACK_ID}.",
            code="out_of_range",
            param="callback_id",
        )
    if callback_url is not None:
        parse_outside_url(callback_url, allow_private=settings.allow_private_callbacks, purpose=CALLBACK)


def _check_voice(voice: VoiceSettings) -> None:
    check_in_range("speech.voice.speed", voice.speed, 0.5, 2)
    check_in_range("speech.voice.pitch", voice.pitch, -12, 12)
    check_in_range("speech.voice.volume", voice.volume, 0, 2)
    check_in_range("speech.voice.pause_s", voice.pause_s, 0, 3)
    check_in_range("speech.voice.pronunciations", len(voice.pronunciations), 0, _MAX_PRONUNCIATIONS)
    for words in voice.pronunciations.items():
        check_characters("".join(words), param="speech.voice.pronunciations")


def _check_frame_size(frame: FrameSettings) -> None:
    if frame.height_px is None:
        return
    check_in_range("frame.height_px", frame.height_px, _MIN_HEIGHT_PX, _MAX_SIDE_PX)
    if frame.aspect is Aspect.SOURCE:
        return  # the width is known only once the file is open
    across, down = map(int, frame.aspect.split(":"))
    if frame.height_px * across > _MAX_SIDE_PX * down:
        raise InvalidRequest(
            f"height_px={frame.height_px} at {frame.aspect} is {frame.height_px * across // down} pixels wide; no side "
            f"may be over {_MAX_SIDE_PX}, so the height is at most {_MAX_SIDE_PX * down // across}.",
            code="frame_size",
            param="frame.height_px",
        )
