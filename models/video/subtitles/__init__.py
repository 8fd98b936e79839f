"""Subtitles: cues from word times, SRT and VTT files, and drawing into the picture."""

from models.video.subtitles.burner import SubtitleBurner
from models.video.subtitles.cues import NO_WORD_TIMES, Cue, CueLimits, cues_from_timeline
from models.video.subtitles.files import to_srt, to_vtt
from models.video.subtitles.placement import CaptionPlace, FaceRows, caption_rows, caption_top_share, place_captions
from models.video.subtitles.style import SubtitleStyle

__all__ = [
    "NO_WORD_TIMES",
    "CaptionPlace",
    "Cue",
    "CueLimits",
    "FaceRows",
    "SubtitleBurner",
    "SubtitleStyle",
    "caption_rows",
    "caption_top_share",
    "cues_from_timeline",
    "place_captions",
    "to_srt",
    "to_vtt",
]
