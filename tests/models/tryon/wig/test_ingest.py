from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.ingest import ingest_wig
from services.domain.errors import ContentRejected

Presenter = Callable[[str], np.ndarray]


def _saved(pixels: np.ndarray, path: Path) -> Path:
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture(scope="module")
def taken_in(presenter: Presenter, tmp_path_factory: pytest.TempPathFactory) -> WigAsset:
    """The hair of a built-in presenter, as if her picture were a product photo."""
    return ingest_wig(_saved(presenter("vera"), tmp_path_factory.mktemp("photo") / "vera.png"))


def test_hair_on_a_head_becomes_a_wig_without_the_face(taken_in: WigAsset) -> None:
    alpha = taken_in.picture_rgba[..., 3]
    height, width = alpha.shape

    def at(index: int) -> int:
        x, y = np.clip(np.round(taken_in.landmarks[index, :2]).astype(int), 0, [width - 1, height - 1])
        return int(alpha[y, x])

    for bare in (1, 4, 13, 152, 50, 280):  # nose, lips, chin, cheeks
        assert at(bare) < 40
    x, y = np.round(taken_in.landmarks[10, :2]).astype(int)
    assert alpha[: max(y - int(0.1 * taken_in.face_width), 1), x].max() > 230  # the crown above the forehead
    assert taken_in.light is not None
    assert taken_in.confidence > 0.5
    assert not any(reason.blocking for reason in taken_in.quality)


def test_the_wigs_colour_is_hair_also_at_its_soft_edges(taken_in: WigAsset) -> None:
    rgba = taken_in.picture_rgba
    soft, solid = (rgba[..., 3] > 60) & (rgba[..., 3] < 160), rgba[..., 3] > 240
    # What was matted off a wall does not carry the wall's light with it.
    assert np.median(rgba[soft][:, :3].mean(1)) < np.median(rgba[solid][:, :3].mean(1)) + 45


def test_a_transparent_wig_keeps_its_own_alpha(wig: WigAsset, tmp_path: Path) -> None:
    asset = ingest_wig(_saved(wig.picture_rgba, tmp_path / "wig.png"))

    rows, columns = (
        np.flatnonzero((wig.picture_rgba[..., 3] > 0).any(1)),
        np.flatnonzero(wig.picture_rgba[..., 3].any(0)),
    )
    drawn = wig.picture_rgba[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    inner = asset.picture_rgba[2 : 2 + drawn.shape[0], 2 : 2 + drawn.shape[1]]
    assert np.array_equal(inner[..., 3], drawn[..., 3])
    solid = drawn[..., 3] == 255
    assert np.abs(inner[solid].astype(int) - drawn[solid]).max() <= 1
    assert asset.light is None


def test_pins_say_where_the_head_is_in_a_wig_without_a_face(wig: WigAsset, tmp_path: Path) -> None:
    photo = _saved(wig.picture_rgba, tmp_path / "wig.png")
    points = wig.landmarks[:, :2] / 400
    pins = {"right_ear": points[234], "left_ear": points[454], "chin": points[152]}
    asset = ingest_wig(photo, pins={name: (float(x), float(y)) for name, (x, y) in pins.items()})

    offset = asset.landmarks[234, :2] - wig.landmarks[234, :2]  # by how much the empty ground was cut away
    assert np.abs(asset.landmarks[:, :2] - wig.landmarks[:, :2] - offset).max() < 3


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda rgba: np.zeros_like(rgba), "product_empty"),
        (lambda rgba: np.dstack([rgba[..., :3], 255 - rgba[..., 3]]), "product_polarity"),
        (lambda rgba: np.full((300, 300, 3), 250, np.uint8), "product_empty"),
        (lambda rgba: np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8), "product_empty"),
        (lambda rgba: rgba[110:], "product_touches_frame"),
        (lambda rgba: rgba[::8, ::8], "product_low_resolution"),
    ],
    ids=["transparent", "inverted", "blank", "noise", "crown cut off", "tiny"],
)
def test_an_unusable_product_is_refused_by_name(
    wig: WigAsset, tmp_path: Path, make: Callable[[np.ndarray], np.ndarray], code: str
) -> None:
    photo = _saved(np.ascontiguousarray(make(wig.picture_rgba)), tmp_path / "wig.png")
    with pytest.raises(ContentRejected) as refused:
        ingest_wig(photo)
    assert refused.value.code == code


def test_a_text_file_is_no_photo(tmp_path: Path) -> None:
    (tmp_path / "wig.png").write_text("a wig")
    with pytest.raises(ContentRejected) as refused:
        ingest_wig(tmp_path / "wig.png")
    assert refused.value.code == "unsupported_media"


def test_skin_that_was_kept_is_refused_by_place(presenter: Presenter, taken_in: WigAsset) -> None:
    from models.tryon.wig.quality import skin_reasons
    from models.tryon.wig.seeing import see_head

    picture = presenter("vera")
    seen = see_head(picture, None)
    alpha = np.rint(seen.hair * 255).astype(np.uint8)
    clean = np.dstack([picture, alpha])
    x, y = np.round(seen.points[151, :2]).astype(int)
    reach = int(0.2 * np.linalg.norm(seen.points[454, :2] - seen.points[234, :2]))
    kept = clean.copy()
    kept[y - reach // 2 : y + reach // 2, x - reach : x + reach, 3] = 255

    assert not any(reason.blocking for reason in skin_reasons(clean, picture, seen.points))
    (reason,) = [reason for reason in skin_reasons(kept, picture, seen.points) if reason.blocking]
    assert reason.code == "product_keeps_skin"
    assert "forehead" in reason.detail


def test_shared_hair_references_are_taken_in_and_what_the_frame_cut_is_told(shared_data: Path) -> None:
    fringe = ingest_wig(shared_data / "hair" / "ref_blonde_fringe.jpg")

    (reason,) = [reason for reason in fringe.quality if reason.code == "product_touches_frame"]
    assert "left" in reason.detail
    assert not reason.blocking


def test_a_canceled_ingest_stops_before_the_long_matting(wig: WigAsset, tmp_path: Path) -> None:
    class CanceledError(Exception):
        pass

    def canceled() -> None:
        raise CanceledError

    with pytest.raises(CanceledError):
        ingest_wig(_saved(wig.picture_rgba, tmp_path / "wig.png"), check_canceled=canceled)
