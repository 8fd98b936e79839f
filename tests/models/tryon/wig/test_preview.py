from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models.provenance.inspection import inspect_file
from models.tryon.previews import Previews
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.preview import WigInputs, fitting_of, make_wig_previews
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.model_choice import ModelChoice
from services.domain.picture_storyboards import ModelShot, ProductShot, WigStoryboard
from services.domain.preview import WigPreviewRequest
from services.domain.product import ProductRef, ProductView
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure

Presenter = Callable[[str], np.ndarray]


def _storyboard(
    *,
    label: bool = False,
    colours: tuple[str, ...] = (),
    background: BackgroundShot | None = None,
    yaw_deg: tuple[float, ...] = (0.0,),
) -> WigStoryboard:
    return WigStoryboard(
        job_id="job_1",
        model=ModelShot(key="uploads/portrait"),
        wig=(ProductShot(photo_key="uploads/wig"),),
        background=background or BackgroundShot(kind=BackgroundKind.ORIGINAL),
        colours=colours,
        yaw_deg=yaw_deg,
        disclosure=Disclosure(visible_label=label),
    )


@pytest.fixture
def portrait(presenter: Presenter, tmp_path: Path) -> Path:
    path = tmp_path / "portrait.png"
    Image.fromarray(presenter("max")).save(path)
    return path


def _made(portrait: Path, wig: WigAsset, out_dir: Path, **asked: object) -> Previews:
    out_dir.mkdir(exist_ok=True)
    inputs = WigInputs(storyboard=_storyboard(**asked), model=portrait, assets=[wig])  # type: ignore[arg-type]
    return make_wig_previews(inputs, out_dir=out_dir)


def _pixels(path: Path) -> np.ndarray:
    return np.array(Image.open(path))


def test_pixels_outside_the_mask_are_the_portraits_own_to_the_bit(
    portrait: Path, wig: WigAsset, tmp_path: Path
) -> None:
    previews = _made(portrait, wig, tmp_path / "out")
    before, after = _pixels(portrait), _pixels(previews.files["front"])
    mask = _pixels(previews.files["front_mask"])

    assert after.shape == before.shape
    assert mask.shape == before.shape[:2]
    assert np.array_equal(after[mask == 0], before[mask == 0])
    assert 0.02 < (mask > 0).mean() < 0.6
    assert (np.abs(after.astype(int) - before).max(2)[mask > 200] > 8).mean() > 0.5  # and inside it much is new


def test_eyes_nose_and_mouth_stay_untouched_by_a_wig_without_fringe(
    portrait: Path, wig: WigAsset, tmp_path: Path
) -> None:
    import cv2

    mask = _pixels(_made(portrait, wig, tmp_path / "out").files["front_mask"])
    detector = pytest.importorskip("dlib").get_frontal_face_detector()
    picture = _pixels(portrait)
    scale = 2
    (box,) = detector(cv2.resize(picture, None, fx=1 / scale, fy=1 / scale, interpolation=cv2.INTER_AREA), 1)
    left, right = (int(scale * (box.left() + share * box.width())) for share in (0.3, 0.7))
    top, bottom = (int(scale * (box.top() + share * box.height())) for share in (0.35, 0.8))

    assert (mask[top:bottom, left:right] == 0).all()


def test_the_label_is_drawn_over_the_picture_and_not_into_the_mask(
    portrait: Path, wig: WigAsset, tmp_path: Path
) -> None:
    plain = _made(portrait, wig, tmp_path / "plain")
    labelled = _made(portrait, wig, tmp_path / "labelled", label=True)

    assert not np.array_equal(_pixels(plain.files["front"]), _pixels(labelled.files["front"]))
    assert np.array_equal(_pixels(plain.files["front_mask"]), _pixels(labelled.files["front_mask"]))
    assert labelled.facts["visible_label"] is True


def test_every_file_says_that_ai_made_it(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    previews = _made(portrait, wig, tmp_path / "out", colours=("black",))

    assert set(previews.files) == {"front", "front_mask", "colour_black", "sheet"}
    for role, path in previews.files.items():
        assert inspect_file(path).is_marked, role
        assert previews.marks[role].content_id == f"job_1.{role}"


def test_colour_variants_change_the_wig_alone(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    previews = _made(portrait, wig, tmp_path / "out", colours=("blonde", "#3355cc"))
    front, mask = _pixels(previews.files["front"]).astype(int), _pixels(previews.files["front_mask"])

    for role in ("colour_blonde", "colour_3355cc"):
        variant = _pixels(previews.files[role]).astype(int)
        assert np.array_equal(variant[mask == 0], front[mask == 0])
        assert np.abs(variant - front)[mask > 0].max() > 60


def test_another_background_is_behind_sitter_and_wig(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    blue = BackgroundShot(kind=BackgroundKind.COLOR, color="#2040c0")
    plain = _pixels(_made(portrait, wig, tmp_path / "plain").files["front"])
    moved = _pixels(_made(portrait, wig, tmp_path / "blue", background=blue).files["front"])

    assert moved[5, 5].tolist() == [0x20, 0x40, 0xC0]
    assert moved[5, -5].tolist() == [0x20, 0x40, 0xC0]
    height, width = plain.shape[:2]
    middle = (slice(height // 2 - 20, height // 2 + 20), slice(width // 2 - 20, width // 2 + 20))
    assert np.array_equal(moved[middle], plain[middle])  # whoever is whole keeps their pixels


def test_the_same_job_makes_the_same_pixels(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    first, second = (_pixels(_made(portrait, wig, tmp_path / name).files["front"]) for name in ("a", "b"))
    assert np.array_equal(first, second)


def test_a_picture_without_a_face_is_refused_by_name(wig: WigAsset, tmp_path: Path) -> None:
    Image.fromarray(np.full((300, 300, 3), 127, np.uint8)).save(tmp_path / "grey.png")
    with pytest.raises(ContentRejected) as refused:
        _made(tmp_path / "grey.png", wig, tmp_path / "out")
    assert refused.value.code == "face_not_found"


def test_a_wig_that_has_no_front_is_refused_by_name(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    back = WigAsset(picture_rgba=wig.picture_rgba, landmarks=wig.landmarks, view=ProductView.BACK)
    with pytest.raises(ContentRejected) as refused:
        _made(portrait, back, tmp_path / "out")
    assert refused.value.code == "product_not_ready"


def test_an_unknown_colour_is_told_before_any_work(wig: WigAsset, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        _made(tmp_path / "missing.png", wig, tmp_path / "out", colours=("glitter",))
    assert refused.value.code == "colour_unknown"


def test_a_canceled_job_stops(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def cancel() -> None:
        raise Stop

    with pytest.raises(Stop):
        make_wig_previews(
            WigInputs(storyboard=_storyboard(), model=portrait, assets=[wig]), out_dir=tmp_path, check_canceled=cancel
        )


@pytest.mark.parametrize(
    ("yaw_deg", "colours", "num_pictures"),
    [
        ((0.0,), (), 1),
        ((10.0,), (), 2),
        ((12.5, -12.5, 0.33), (), 4),
        ((0.001,), (), 1),
        ((0.0, 20.0), ("red", "#A52A2A"), 4),
        ((-20.0,), ("red",), 3),
    ],
)
def test_as_many_pictures_are_made_as_are_estimated_and_charged(
    portrait: Path,
    wig: WigAsset,
    tmp_path: Path,
    yaw_deg: tuple[float, ...],
    colours: tuple[str, ...],
    num_pictures: int,
) -> None:
    request = WigPreviewRequest(
        model=ModelChoice(upload_id="upload_1"),
        wig=ProductRef(product_id="wig_1"),
        yaw_deg=yaw_deg,
        colours=colours,
    )

    previews = _made(portrait, wig, tmp_path / "out", yaw_deg=yaw_deg, colours=colours)

    pictures = {role for role in previews.files if role == "front" or role.startswith(("view_", "colour_"))}
    assert len(pictures) == num_pictures
    assert previews.usage == {"pictures": num_pictures}
    assert request.num_pictures == num_pictures


def test_a_portrait_that_would_fill_memory_is_worked_on_at_a_bounded_size(
    portrait: Path, wig: WigAsset, tmp_path: Path
) -> None:
    with Image.open(portrait) as picture:
        scale = (14_000_000 / (picture.width * picture.height)) ** 0.5
        large = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    large.save(tmp_path / "large.jpg")

    previews = _made(tmp_path / "large.jpg", wig, tmp_path / "out")

    front, mask = _pixels(previews.files["front"]), _pixels(previews.files["front_mask"])
    assert 9_000_000 < mask.size <= 3072 * 3072
    assert front.shape[:2] == mask.shape
    assert front.shape[1] / front.shape[0] == pytest.approx(large.width / large.height, rel=0.001)
    assert any(f"of {large.width}x{large.height} pixels" in warning for warning in previews.facts["warnings"])


def test_a_portrait_of_eight_million_pixels_keeps_its_size(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    with Image.open(portrait) as picture:
        large = picture.resize((2840, round(2840 * picture.height / picture.width)))
    large = large.crop((0, 0, 2840, min(2840, large.height)))
    large.save(tmp_path / "large.jpg")

    previews = _made(tmp_path / "large.jpg", wig, tmp_path / "out")

    assert _pixels(previews.files["front"]).shape[1::-1] == large.size


def test_a_head_of_few_pixels_is_too_small_whatever_is_on_it(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    with Image.open(portrait) as picture:
        full = fitting_of(portrait, None, max_pixels=64_000_000).seen.points
        factor = 62 / float(np.linalg.norm(full[454, :2] - full[234, :2]))
        small = picture.resize(
            (round(picture.width * factor), round(picture.height * factor)), Image.Resampling.LANCZOS
        )
    crowd = Image.new("RGB", (2 * small.width, 2 * small.height), (120, 120, 125))
    crowd.paste(small, (small.width // 2, small.height))
    crowd.save(tmp_path / "crowd.png")

    with pytest.raises(ContentRejected, match="pixels wide") as refused:
        _made(tmp_path / "crowd.png", wig, tmp_path / "out")

    assert refused.value.code == "face_too_small"
