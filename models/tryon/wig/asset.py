"""A wig as the catalogue keeps it: the hair alone, and where the head in it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.stored import reading_stored
from models.tryon.wig.light import FaceLight
from services.domain.product import ProductView, QualityReason

Picture = NDArray[np.uint8]
Points = NDArray[np.float32]

_VERSION: Final = 1
_PICTURE: Final = "wig.png"
_POINTS: Final = "landmarks.npz"
_FACTS: Final = "wig.json"
_MAX_SIDE: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class WigAsset:
    """A wig taken in from its photo.

    Attributes:
        picture_rgba: uint8 (h, w, 4), straight alpha; the colour is the hair's own also where alpha is partial.
        landmarks: float32 (468, 3), the mesh of the head that wears it, in pixels of ``picture_rgba``.
        light: How the face in the photo was lit; None when there was no face.
        view: Which side the photo shows.
        quality: What the client should know; nothing in it is blocking, such photos are refused.
        confidence: That hair and head were understood, 0 to 1.
    """

    picture_rgba: Picture
    landmarks: Points
    light: FaceLight | None = None
    view: ProductView = ProductView.FRONT
    quality: tuple[QualityReason, ...] = ()
    confidence: float = 1.0
    notes: tuple[str, ...] = field(default=())

    @property
    def face_width(self) -> float:
        """Between the cheek outlines of the head, pixels."""
        return float(np.linalg.norm(self.landmarks[454, :2] - self.landmarks[234, :2]))

    def save(self, folder: Path) -> None:
        """Write the asset into ``folder``: a PNG, the mesh and the facts; nothing in it can run."""
        from PIL import Image

        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(self.picture_rgba, "RGBA").save(folder / _PICTURE, format="PNG")
        np.savez_compressed(folder / _POINTS, landmarks=self.landmarks)
        facts = {
            "version": _VERSION,
            "view": self.view.value,
            "confidence": round(self.confidence, 4),
            "light": None if self.light is None else asdict(self.light),
            "quality": [{"code": r.code, "detail": r.detail, "blocking": r.blocking} for r in self.quality],
            "notes": list(self.notes),
        }
        (folder / _FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> WigAsset:
        """The asset that ``save`` wrote.

        Raises:
            ContentRejected: ``product_asset_unreadable``: the folder holds no such asset, or a damaged one.
        """
        from PIL import Image

        with reading_stored("wig"):
            facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            if facts["version"] != _VERSION:
                raise ValueError("another version")
            with Image.open(folder / _PICTURE, formats=("PNG",)) as image:
                if image.mode != "RGBA" or max(image.size) > _MAX_SIDE:
                    raise ValueError("no cutout")
                picture = np.asarray(image)
            with np.load(folder / _POINTS, allow_pickle=False) as file:
                landmarks = np.asarray(file["landmarks"], np.float32)
            if landmarks.shape != (468, 3) or not np.isfinite(landmarks).all():
                raise ValueError("no mesh")
            light = facts["light"]
            return cls(
                picture_rgba=picture,
                landmarks=landmarks,
                light=None if light is None else FaceLight(**light),
                view=ProductView(facts["view"]),
                quality=tuple(QualityReason(**reason) for reason in facts["quality"]),
                confidence=float(facts["confidence"]),
                notes=tuple(facts["notes"]),
            )
