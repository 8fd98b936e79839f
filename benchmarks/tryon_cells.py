"""Every model with every product: one cell each, made by the product's own pipeline, checked, kept for the next run."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from models.perception.analysis_cache import AnalysisCache, digest_of
from models.perception.analyst import shared_analyst
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.ingest import ingest_garment
from models.tryon.garment.preview import GarmentInputs, make_garment_preview
from models.tryon.previews import Previews
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.ingest import ingest_wig
from models.tryon.wig.preview import WigInputs, fitting_of, make_wig_previews
from models.video.picture import read_picture
from services.domain.errors import ContentRejected, SpokesmodelError
from services.domain.picture_storyboards import GarmentStoryboard, ModelShot, ProductShot, WigStoryboard
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure

Picture = NDArray[np.uint8]
Window = tuple[int, int, int, int]

OK: Final = "ok"
EXCEPTION: Final = "exception"
PICTURES: Final = (".jpg", ".jpeg", ".png", ".webp")
_MAX_PIXELS: Final = 64_000_000
_ROOT: Final = Path(__file__).resolve().parents[1]
_ORIGINAL: Final = BackgroundShot(kind=BackgroundKind.ORIGINAL)
_UNLABELLED: Final = Disclosure(visible_label=False)

# What the cases of the shared pictures demand, by file; whatever is not here has to work.
_MAY_BE_NO_FACE: Final = frozenset({OK, "face_not_found"})
_HAIR_MAY_STAY: Final = frozenset({OK, "hair_not_removable"})
WIG_OUTCOMES: Final[Mapping[str, frozenset[str]]] = {
    "noface_landscape": frozenset({"face_not_found"}),
    "many_faces_1927": frozenset({OK, "face_too_small"}),
    "fullbody_smallface": frozenset({OK, "face_too_small"}),
    "anime_man": _MAY_BE_NO_FACE | _HAIR_MAY_STAY,
    "cartoon_man_teeth": _MAY_BE_NO_FACE,
    "statue": _MAY_BE_NO_FACE,
    # Hair pulled up, far wider than the head, or longer than the picture.
    "dark_woman_afro": _HAIR_MAY_STAY,
    "painting_woman_34body": _HAIR_MAY_STAY,
    "asian_woman_ai": _HAIR_MAY_STAY,
    "woman_neutral": _HAIR_MAY_STAY,
    "woman_mouthopen": _HAIR_MAY_STAY,
    "woman_smile_tilt": _HAIR_MAY_STAY,
    "three_people": _HAIR_MAY_STAY,
    "two_people_derived": _HAIR_MAY_STAY,
}
# Hips, knees or arms may be out of reach in these; the others stand whole, facing the camera.
GARMENT_OUTCOMES: Final[Mapping[str, frozenset[str]]] = {
    "man_room_full": frozenset({OK, "pose_not_usable"}),
    "woman_street_full": frozenset({OK, "pose_not_usable"}),
    "cgi_dress_full": frozenset({OK, "pose_not_usable"}),
}
# A back that is sent as a front shows nothing that a shop wants to show.
PRODUCT_OUTCOMES: Final[Mapping[str, frozenset[str]]] = {"bandana_shirt_back": frozenset({"product_back_view"})}
_WORKS: Final = frozenset({OK})
# Drawings, not photos of hair: whatever is wrong with one may be told, by the name of a product's defect.
_DRAWN_MAY_BE: Final = frozenset(
    {
        "pins_needed",
        "product_touches_frame",
        "product_low_resolution",
        "product_empty",
        "product_polarity",
        "hair_not_removable",
    }
)


class Line(Protocol):
    """A kind of product and how it gets onto a model."""

    name: str
    letter: str
    result: str
    mask: str

    def models(self, data: Path) -> list[Path]: ...

    def products(self, data: Path) -> list[Path]: ...

    def allowed(self, model: Path, product: Path) -> frozenset[str]: ...

    def take_in(self, photo: Path) -> Any: ...

    def load(self, folder: Path) -> Any: ...

    def make(self, model: Path, asset: Any, out_dir: Path) -> Previews: ...

    def window(self, model: Path, size: tuple[int, int]) -> Window: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What became of one product on one model.

    Attributes:
        outcome: ``ok``, a refusal's code, or ``exception``.
        expected: Whether the table of outcomes allows it.
        changed_outside: Pixels that differ from the model's picture where the mask of changes is 0.
        torn: Whether a delivered picture's own figures are beyond the limits of the gate.
    """

    cell: str
    model: str
    product: str
    outcome: str
    expected: bool
    cpu_s: float
    changed_outside: int = 0
    torn: bool = False
    detail: str = ""


class Wigs:
    """Portraits and photos of hair on a head."""

    name, letter, result, mask = "wigs", "w", "front", "front_mask"
    _PATTERN = "ref_*"

    def __init__(self, analyses: AnalysisCache) -> None:
        self._cache = analyses

    def models(self, data: Path) -> list[Path]:
        return pictures(data / "portraits")

    def products(self, data: Path) -> list[Path]:
        return pictures(data / "hair", self._PATTERN)

    def allowed(self, model: Path, product: Path) -> frozenset[str]:
        return WIG_OUTCOMES.get(model.stem, _WORKS)

    def take_in(self, photo: Path) -> WigAsset:
        return ingest_wig(photo, name=photo.name)

    def load(self, folder: Path) -> WigAsset:
        return WigAsset.load(folder)

    def make(self, model: Path, asset: WigAsset, out_dir: Path) -> Previews:
        storyboard = WigStoryboard(
            job_id="job_sheet",
            model=ModelShot(key="model"),
            wig=(ProductShot(photo_key="wig"),),
            background=_ORIGINAL,
            disclosure=_UNLABELLED,
        )
        inputs = WigInputs(storyboard=storyboard, model=model, assets=[asset], cache=self._cache)
        return make_wig_previews(inputs, out_dir=out_dir)

    def window(self, model: Path, size: tuple[int, int]) -> Window:
        """Head and shoulders."""
        points = fitting_of(model, None, max_pixels=_MAX_PIXELS, cache=self._cache).seen.points[:, :2]
        width = float(np.linalg.norm(points[454] - points[234]))
        x, y = points.mean(0)
        return _within((x - 2.4 * width, y - 1.9 * width, x + 2.4 * width, y + 2.6 * width), size)


class DrawnWigs(Wigs):
    """Drawings of wigs with an alpha of their own: they show that alpha is used, not how hair looks."""

    name, letter = "drawn", "d"
    _PATTERN = "wig_*"

    def allowed(self, model: Path, product: Path) -> frozenset[str]:
        return super().allowed(model, product) | _DRAWN_MAY_BE


class Garments:
    """People and photos of garments."""

    name, letter, result, mask = "garments", "g", "picture", "mask"

    def __init__(self, analyses: AnalysisCache) -> None:
        self._cache = analyses

    def models(self, data: Path) -> list[Path]:
        return pictures(data / "persons")

    def products(self, data: Path) -> list[Path]:
        return pictures(data / "garments")

    def allowed(self, model: Path, product: Path) -> frozenset[str]:
        return PRODUCT_OUTCOMES.get(product.stem) or GARMENT_OUTCOMES.get(model.stem, _WORKS)

    def take_in(self, photo: Path) -> GarmentAsset:
        return ingest_garment(photo)

    def load(self, folder: Path) -> GarmentAsset:
        return GarmentAsset.load(folder)

    def make(self, model: Path, asset: GarmentAsset, out_dir: Path) -> Previews:
        storyboard = GarmentStoryboard(
            job_id="job_sheet",
            model=ModelShot(key="model"),
            garment=(ProductShot(photo_key="garment"),),
            background=_ORIGINAL,
            disclosure=_UNLABELLED,
        )
        inputs = GarmentInputs(storyboard=storyboard, model=model, assets=[asset], cache=self._cache)
        return make_garment_preview(inputs, out_dir=out_dir)

    def window(self, model: Path, size: tuple[int, int]) -> Window:
        """The whole person with some ground round them."""

        def analyse() -> Any:
            return shared_analyst().body(read(model))

        body = self._cache.body(digest_of(model), "sheet", analyse)
        rows, columns = np.nonzero(body.person > 0.5)
        if len(rows) == 0:
            return (0, 0, *size)
        edges = np.array([columns.min(), rows.min(), columns.max(), rows.max()]) / body.scale
        room = 0.05 * (edges[3] - edges[1])
        return _within((edges[0] - room, edges[1] - room, edges[2] + room, edges[3] + room), size)


def lines(analyses: AnalysisCache) -> dict[str, Line]:
    """The kinds of sheets by name."""
    return {line.name: line for line in (Wigs(analyses), DrawnWigs(analyses), Garments(analyses))}


def pictures(folder: Path, pattern: str = "*") -> list[Path]:
    """The pictures of a folder in the order of their names."""
    return sorted(path for path in folder.glob(pattern) if path.suffix.lower() in PICTURES)


def read(path: Path) -> Picture:
    """Upright pixels, uint8 (h, w, 3)."""
    source = read_picture(path, path.name, max_pixels=_MAX_PIXELS)
    if source is None:
        raise ContentRejected(f"{path.name} is no picture.", code="unsupported_media")
    return source.rgb


@cache
def code_state() -> str:
    """A digest of the code that makes pictures, as this process has it: cells that other code made are made again."""
    digest = hashlib.sha256()
    for part in ("models/tryon", "models/perception"):
        for path in sorted((_ROOT / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Bench:
    """Makes the cells of one line in a folder, and finds those again that an earlier run made.

    Args:
        line: What is put on whom.
        data: Folder with the line's models and products.
        folder: For cells, assets and records.
        only: Parts of the names of models and products; a cell is made when each list is empty or fits. Numbers stay.
    """

    def __init__(
        self,
        line: Line,
        data: Path,
        folder: Path,
        *,
        only: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> None:
        self._line = line
        self._folder = folder
        self._state = code_state()
        self.models = line.models(data)
        self.products = line.products(data)
        self._only = only
        self._assets: dict[Path, Any] = {}

    def cells(self) -> Iterator[Cell]:
        """Model by model, each with every product; numbers do not depend on what was made before."""
        number = 0
        for model in self.models:
            for product in self.products:
                number += 1
                pairs = zip(self._only, (model.stem, product.stem), strict=True)
                if not all(not parts or any(part in stem for part in parts) for parts, stem in pairs):
                    continue
                yield self._cell(f"{self._line.letter}{number:03d}", model, product)

    def picture_of(self, cell: str) -> Path:
        """Where the result of a cell lies, cut to its window; absent where it was refused."""
        return self._folder / "cells" / f"{cell}.png"

    def before(self, model: Path) -> Picture:
        """The model's picture, cut to the window of its results."""
        rgb = read(model)
        try:
            left, top, right, bottom = self._line.window(model, (rgb.shape[1], rgb.shape[0]))
        except SpokesmodelError:
            return rgb
        return rgb[top:bottom, left:right]

    def _cell(self, name: str, model: Path, product: Path) -> Cell:
        record = self._folder / "cells" / f"{name}.json"
        key = f"{self._state} {digest_of(model)} {digest_of(product)}"
        try:
            known = json.loads(record.read_text("utf-8"))
            if known.pop("key") == key:
                return Cell(**known)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        cell = self._made(name, model, product)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps({"key": key, **asdict(cell)}), "utf-8")
        return cell

    def _made(self, name: str, model: Path, product: Path) -> Cell:
        """One cell, never an exception: what goes wrong is the finding."""
        self.picture_of(name).unlink(missing_ok=True)
        facts: dict[str, Any] = {}
        cpu_s = 0.0
        try:
            asset = self._asset(product)
            with tempfile.TemporaryDirectory() as scratch:
                started = time.process_time()
                try:
                    previews = self._line.make(model, asset, Path(scratch))
                finally:
                    cpu_s = time.process_time() - started
                result = read(previews.files[self._line.result])
                mask = read(previews.files[self._line.mask])[..., 0]
            facts = self._checked(name, model, result, mask, previews.facts)
            outcome = OK
        except SpokesmodelError as error:
            outcome, facts["detail"] = error.code, str(error)
        except Exception as error:  # counted and shown, the sheet goes on
            outcome, facts["detail"] = EXCEPTION, f"{type(error).__name__}: {error}"
        allowed = self._line.allowed(model, product)
        return Cell(
            cell=name,
            model=model.stem,
            product=product.stem,
            outcome=outcome,
            expected=outcome in allowed,
            cpu_s=round(cpu_s, 2),
            **facts,
        )

    def _checked(
        self, name: str, model: Path, result: Picture, mask: NDArray[np.uint8], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Writes the picture, and says what a machine can say about it."""
        from PIL import Image

        before = read(model)
        if before.shape != result.shape:
            raise AssertionError(f"the picture is {result.shape}, the model's {before.shape}")
        outside = int(((before != result).any(axis=2) & (mask == 0)).sum())
        left, top, right, bottom = self._line.window(model, (result.shape[1], result.shape[0]))
        target = self.picture_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(result[top:bottom, left:right]).save(target, compress_level=2)
        torn = facts.get("old_clothes_covered", 1.0) < 0.97 or (
            (facts.get("anisotropy") or 1.0) > (3.0 if facts.get("category") == "overall" else 1.9)
        )
        return {"changed_outside": outside, "torn": torn, "detail": "; ".join(facts.get("warnings", []))}

    def _asset(self, product: Path) -> Any:
        """The product taken in, by an earlier run perhaps; its refusal is kept as well."""
        if product not in self._assets:
            self._assets[product] = self._taken_in(product)
        found = self._assets[product]
        if isinstance(found, SpokesmodelError):
            raise found
        return found

    def _taken_in(self, product: Path) -> Any:
        folder = self._folder / "assets" / f"{self._state}-{digest_of(product)[:16]}"
        try:
            return self._line.load(folder)
        except SpokesmodelError:
            pass
        try:
            asset = self._line.take_in(product)
        except SpokesmodelError as error:
            return error
        asset.save(folder)
        return asset


def summary(cells: Sequence[Cell]) -> dict[str, Any]:
    """Counts of a sheet."""
    codes = sorted({cell.outcome for cell in cells} - {OK})
    seconds = [cell.cpu_s for cell in cells if cell.outcome == OK]
    return {
        "cells": len(cells),
        "pictures": len(seconds),
        "refused": {code: sum(cell.outcome == code for cell in cells) for code in codes if code != EXCEPTION},
        "exceptions": sum(cell.outcome == EXCEPTION for cell in cells),
        "unexpected": [cell.cell for cell in cells if not cell.expected],
        "torn": sum(cell.torn for cell in cells),
        "cells_changed_outside_mask": sum(cell.changed_outside > 0 for cell in cells),
        "median_cpu_s": round(float(np.median(seconds)), 2) if seconds else None,
    }


def _within(box: tuple[float, float, float, float], size: tuple[int, int]) -> Window:
    left, top, right, bottom = box
    return max(0, int(left)), max(0, int(top)), min(size[0], int(right)), min(size[1], int(bottom))
