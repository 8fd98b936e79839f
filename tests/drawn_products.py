"""Photos of products, drawn: what tests need when no real one may be shown or kept here."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

_TEE = [(210, 90), (270, 110), (320, 118), (370, 110), (430, 90), (580, 190), (530, 270), (450, 225), (450, 570),
        (190, 570), (190, 225), (110, 270), (60, 190)]  # fmt: skip


def png(image: Image.Image) -> bytes:
    """The picture as a PNG file."""
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def bob() -> bytes:
    """Hair alone, cut out: a brown bob without a head in it."""
    image = Image.new("RGBA", (600, 700), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    draw.ellipse((100, 60, 500, 560), fill=(90, 50, 30, 255))
    draw.rectangle((100, 300, 500, 560), fill=(90, 50, 30, 255))
    draw.ellipse((170, 190, 430, 620), fill=(0, 0, 0, 0))
    return png(image)


def bob_over_the_frame() -> bytes:
    """The same so near that most of it lies outside of the picture."""
    with Image.open(io.BytesIO(bob())) as image:
        return png(image.crop((180, 150, 420, 500)))


def tee(color: tuple[int, int, int] = (40, 90, 160)) -> bytes:
    """A T-shirt with a yellow print, lying on white."""
    image = Image.new("RGB", (640, 640), (250, 250, 248))
    draw = ImageDraw.Draw(image)
    draw.polygon(_TEE, fill=color)
    draw.rectangle((260, 260, 380, 330), fill=(240, 220, 60))
    return png(image)


def trousers() -> bytes:
    """Dark trousers, lying on white."""
    image = Image.new("RGB", (500, 800), (250, 250, 248))
    draw = ImageDraw.Draw(image)
    draw.polygon([(150, 60), (350, 60), (400, 740), (290, 740), (250, 300), (210, 740), (100, 740)], fill=(50, 50, 60))
    return png(image)


def nothing() -> bytes:
    """An even ground without any product."""
    return png(Image.new("RGB", (500, 500), (240, 240, 240)))
