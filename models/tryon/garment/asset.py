"""A garment of the catalogue, taken in once from its product photo: cut out, upright, its points named and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.landmarks import SleeveKind
from models.tryon.garment.notches import Point
from models.tryon.stored import reading_stored
from services.domain.product import GarmentCategory, ProductView, QualityReason

MAX_SIDE_PX: Final = 1536
_MAX_STORED_PX: Final = 8192
VERSION: Final = 1
_PICTURE: Final = "garment.png"
_INNER: Final = "garment-inner.png"
_FACTS: Final = "garment.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class GarmentAsset:
    """What placing a garment on a person needs.

    Attributes:
        picture_rgba: uint8 (h, w, 4), sRGB with straight alpha, upright, cropped to the garment with a margin. Colours
            at soft edges are the garment's own, without the photo's background.
        category: As given, else as recognised.
        view: The side that is seen.
        sleeves: What is at the shoulders.
        landmarks: Points by name in pixels of the picture, x and y; sides are the wearer's.
        outline: float32 (n, 2), the outer silhouette, closed, clockwise on the screen from the top.
        inner: uint8 (h, w), where the inside of the back is seen through the neck opening, 0 to 255: worn, it is
            behind the neck. It counts in the picture's alpha.
        open_front: Whether the two halves of the front are apart, so that what is worn below is seen between them.
        confidence: 0 to 1, how far mask and points can be trusted.
        quality: What the shop should know; none of it blocking.
    """

    picture_rgba: NDArray[np.uint8]
    category: GarmentCategory
    view: ProductView
    sleeves: SleeveKind
    landmarks: Mapping[str, Point]
    outline: NDArray[np.float32]
    inner: NDArray[np.uint8]
    open_front: bool = False
    confidence: float = 1.0
    quality: tuple[QualityReason, ...] = field(default=())

    @property
    def sleeved(self) -> bool:
        return self.sleeves is SleeveKind.SLEEVED

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.picture_rgba.shape[1], self.picture_rgba.shape[0]

    @property
    def front_alpha(self) -> NDArray[np.uint8]:
        """The picture's alpha without what lies behind the neck, uint8 (h, w)."""
        return np.minimum(self.picture_rgba[:, :, 3], 255 - self.inner)

    def outline_between(self, start: str, end: str) -> NDArray[np.float32]:
        """The outline from the landmark ``start`` to the landmark ``end`` on the shorter way, float32 (n, 2).

        Raises:
            KeyError: The garment has no such landmark.
        """
        first, last = (
            int(np.argmin(((self.outline - np.asarray(self.landmarks[name], np.float32)) ** 2).sum(1)))
            for name in (start, end)
        )
        count = len(self.outline)
        ahead = (last - first) % count
        if ahead <= count - ahead:
            return self.outline[(first + np.arange(ahead + 1)) % count]
        return self.outline[(first - np.arange(count - ahead + 1)) % count]

    def save(self, folder: Path) -> None:
        """Writes the asset into ``folder``, which is made: two PNG pictures and a JSON file."""
        from PIL import Image

        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(self.picture_rgba, "RGBA").save(folder / _PICTURE)
        Image.fromarray(self.inner, "L").save(folder / _INNER)
        facts = {
            "version": VERSION,
            "category": self.category,
            "view": self.view,
            "sleeves": self.sleeves,
            "landmarks": {name: [round(x, 2), round(y, 2)] for name, (x, y) in self.landmarks.items()},
            "outline": np.round(self.outline, 2).astype(float).tolist(),
            "open_front": self.open_front,
            "confidence": round(self.confidence, 3),
            "quality": [{"code": reason.code, "detail": reason.detail} for reason in self.quality],
        }
        (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> GarmentAsset:
        """The asset that ``save`` wrote into ``folder``.

        Raises:
            ContentRejected: ``product_asset_unreadable``: a file is missing, damaged or of another version; the
                photo has to be taken in again.
        """
        from PIL import Image

        with reading_stored("garment"):
            facts: dict[str, Any] = json.loads((folder / _FACTS).read_text("utf-8"))
            if facts["version"] != VERSION:
                raise ValueError(f"it has version {facts['version']}, not {VERSION}")
            with Image.open(folder / _PICTURE) as picture, Image.open(folder / _INNER) as inner:
                if max(*picture.size, *inner.size) > _MAX_STORED_PX:
                    raise ValueError("no cutout")
                picture_rgba = np.array(picture.convert("RGBA"))
                inner_values = np.array(inner.convert("L"))
            if picture_rgba.shape[:2] != inner_values.shape:
                raise ValueError("its pictures differ in size")
            return cls(
                picture_rgba=picture_rgba,
                category=GarmentCategory(facts["category"]),
                view=ProductView(facts["view"]),
                sleeves=SleeveKind(facts["sleeves"]),
                landmarks={name: (float(x), float(y)) for name, (x, y) in facts["landmarks"].items()},
                outline=np.asarray(facts["outline"], np.float32).reshape(-1, 2),
                inner=inner_values,
                open_front=bool(facts["open_front"]),
                confidence=float(facts["confidence"]),
                quality=tuple(
                    QualityReason(code=reason["code"], detail=reason["detail"], blocking=False)
                    for reason in facts["quality"]
                ),
            )
