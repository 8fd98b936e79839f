"""Draws the pictures of the documents: ``python docs/pictures.py``.

``images/demo.jpg``: what the demo's presenter says, at five moments of ``out/demo.mp4``. ``images/try-on.jpg``: its
wig on a model. The demo is made if it is not there. The people are the built-in Tom, Vera and Ellen (MIT, see
../NOTICE).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import av
import manimgx_fonts
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parent.parent
VIDEO = ROOT / "out" / "demo.mp4"
TARGET = Path(__file__).with_name("images") / "demo.jpg"
WORN, WORN_TARGET = VIDEO.with_name("demo-wig.jpg"), TARGET.with_name("try-on.jpg")
WORN_WIDTH = 1400
NUM_MOMENTS = 5
TILE, CAPTION = 320, 72
_CUE = re.compile(r"(\d+):(\d+):(\d+),(\d+) --> (\d+):(\d+):(\d+),(\d+)\n(.*?)\n(?:\n|$)", re.DOTALL)


def cues(srt: str) -> list[tuple[float, str]]:
    """The middle of each cue in seconds, and its text."""
    found = []
    for *digits, text in _CUE.findall(srt):
        start, end = (int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000 for h, m, s, ms in (digits[:4], digits[4:]))
        found.append(((start + end) / 2, " ".join(text.split())))
    return found


def frames(path: Path, times_s: list[float]) -> list[Image.Image]:
    """The frames shown at ``times_s``, ascending."""
    found: list[Image.Image] = []
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            if len(found) < len(times_s) and frame.time is not None and frame.time >= times_s[len(found)]:
                found.append(frame.to_image())
    return found


def main() -> None:
    if not (VIDEO.is_file() and WORN.is_file()):
        subprocess.run([sys.executable, "-m", "spokesmodel", "demo", "--out", str(VIDEO.parent)], check=True)
    spoken = cues(VIDEO.with_suffix(".srt").read_text(encoding="utf-8"))
    chosen = [spoken[round(i * (len(spoken) - 1) / (NUM_MOMENTS - 1))] for i in range(NUM_MOMENTS)]
    sheet = Image.new("RGB", (NUM_MOMENTS * TILE, TILE + CAPTION), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.truetype(str(Path(manimgx_fonts.__file__).parent / "NotoSans[wght].ttf"), 19)
    for index, (frame, (_, text)) in enumerate(zip(frames(VIDEO, [t for t, _ in chosen]), chosen, strict=True)):
        width = frame.width
        tile = frame.crop((0, 0, width, width)).resize((TILE, TILE), Image.Resampling.LANCZOS)
        sheet.paste(tile, (index * TILE, 0))
        lines = _wrapped(text, font, TILE - 24)
        for row, line in enumerate(lines):
            draw.text((index * TILE + TILE // 2, TILE + 10 + row * 26), line, fill="#333", font=font, anchor="ma")
    TARGET.parent.mkdir(exist_ok=True)
    sheet.save(TARGET, quality=86, optimize=True)
    with Image.open(WORN) as worn:
        size = (WORN_WIDTH, round(worn.height * WORN_WIDTH / worn.width))
        worn.resize(size, Image.Resampling.LANCZOS).save(WORN_TARGET, quality=86, optimize=True)
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}\n{WORN_TARGET.relative_to(ROOT)}\n")


def _wrapped(text: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


if __name__ == "__main__":
    main()
