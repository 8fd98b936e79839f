"""Small marked files of every kind, and signers for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models.provenance.boxes import append_xmp
from models.provenance.credentials import sign_file
from models.provenance.marks import Marks, SourceType
from models.provenance.pictures import save_picture
from models.video import yuv
from models.video.writer import VideoWriter
from tests.fakes.signer import Authority, FakeSigner

MARKS = Marks(source_type=SourceType.COMPOSITE, producer="Muster & Söhne <GmbH>", content_id="job_1.video")


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def signer(authority: Authority) -> FakeSigner:
    return FakeSigner(authority)


@pytest.fixture
def marked(tmp_path: Path) -> Callable[..., Path]:
    """Writes a marked file; its name says the kind."""

    def write(name: str = "film.mp4", *, num_frames: int = 12, marks: Marks = MARKS) -> Path:
        path = tmp_path / name
        if path.suffix == ".mp4":
            sound = 0.1 * np.sin(np.arange(48_000 * num_frames // 25) * 0.05).astype(np.float32)
            with VideoWriter(
                path, width=64, height=48, fps=25, samples=sound, metadata=marks.container_tags()
            ) as writer:
                for index in range(num_frames):
                    frame = yuv.new_frame(64, 48)
                    frame[:48] = 16 + 5 * index
                    writer.write(frame)
            append_xmp(path, marks.xmp())
            return path
        pixels = np.random.default_rng(1).integers(0, 255, (40, 60, 4), dtype=np.uint8)
        image = Image.fromarray(pixels if path.suffix != ".jpg" else pixels[..., :3])
        options = {}
        if "turning" in name:
            options = {"save_all": True, "append_images": [image.rotate(90 * n) for n in (1, 2, 3)], "duration": 100}
        save_picture(image, path, marks, **options)
        return path

    return write


@pytest.fixture
def signed(marked: Callable[..., Path], signer: FakeSigner) -> Callable[..., Path]:
    """As ``marked``, and signed."""

    def write(name: str = "film.mp4", **options: int) -> Path:
        path = marked(name, **options)
        sign_file(path, MARKS, signer, ingredients=["image/jpeg"])
        return path

    return write
