from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.live import LiveWig
from models.tryon.wig.live_hair import HairColours, place_of
from models.tryon.wig.live_video import make_live_video
from models.video.writer import VideoWriter
from services.domain.errors import ContentRejected
from services.domain.video import Disclosure

Presenter = Callable[[str], np.ndarray]

HEIGHT, WIDTH = 480, 360


@pytest.fixture(scope="module")
def sitter() -> np.ndarray:
    from PIL import Image

    from models import weights

    picture = np.array(Image.open(weights.path("avatar-max")).convert("RGB"))
    return np.asarray(cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8)


@pytest.fixture
def green(wig: WigAsset) -> WigAsset:
    """A wig in a colour that is nowhere in the pictures."""
    rgba = wig.picture_rgba.copy()
    rgba[..., :3] = (20, 200, 60)
    return WigAsset(picture_rgba=rgba, landmarks=wig.landmarks, light=None)


def _noisy(picture: np.ndarray, seed: int, sigma: float = 2.0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, sigma, picture.shape)
    return np.clip(np.rint(picture + noise), 0, 255).astype(np.uint8)


def _place(picture: np.ndarray) -> np.ndarray:
    """Centre of what is green, pixels."""
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    rows, columns = np.nonzero((green > red + 60) & (green > blue + 60))
    assert len(rows) > 500
    return np.array([columns.mean(), rows.mean()])


def test_a_wig_on_a_still_head_does_not_tremble(sitter: np.ndarray, green: WigAsset) -> None:
    live = LiveWig(green)
    places = np.array([_place(live.frame(_noisy(sitter, seed), seed / 30)) for seed in range(24)])

    assert np.abs(places - places.mean(0)).max() < 0.5  # pixels, of a face that is 127 wide
    assert np.abs(np.diff(places[3:], axis=0)).max() < 0.2  # once the filter has settled


def test_a_wig_follows_the_head_wherever_it_goes(sitter: np.ndarray, green: WigAsset) -> None:
    live = LiveWig(green)
    still = _place(live.frame(sitter, 0.0))
    for number in range(1, 31):  # a pixel a frame to the right, almost one up, slowly turning and growing
        angle, scale = 0.2 * number, 1 + 0.003 * number
        matrix = np.array(cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), angle, scale))
        matrix[:, 2] += np.array([1.0 * number, -0.7 * number])
        moved = cv2.warpAffine(sitter, matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE)
        shown = live.frame(np.asarray(moved, np.uint8), number / 30)
        expected = matrix @ [*still, 1]
        assert np.linalg.norm(_place(shown) - expected) < 4.0, number  # .03 face widths, the filter's lag included


def test_pixels_that_no_wig_touches_are_the_frames_own(sitter: np.ndarray, green: WigAsset) -> None:
    live = LiveWig(green)
    for number in range(3):
        frame = _noisy(sitter, number)
        before = frame.copy()
        shown = live.frame(frame, number / 30)
        assert np.array_equal(frame, before)  # the caller's own array is left alone
        same = (shown == frame).all(2)
        assert 0.5 < same.mean() < 0.95
        assert same[400:].all()  # below the chin
        assert same[:, :20].all()
        assert same[225:240, 160:190].all()  # the nose


def test_a_frame_without_the_face_comes_back_as_it_is_and_is_told(sitter: np.ndarray, green: WigAsset) -> None:
    live = LiveWig(green)
    wall = np.full_like(sitter, 127)
    shown = [live.frame(frame, number / 30) for number, frame in enumerate([sitter, wall, wall, *[sitter] * 8])]

    assert np.array_equal(shown[1], wall)
    assert np.array_equal(shown[2], wall)
    assert not np.array_equal(shown[-1], sitter)
    assert live.facts["num_frames"] == 11
    assert 2 <= live.facts["num_frames_without_face"] <= 9
    assert np.linalg.norm(_place(shown[-1]) - _place(shown[0])) < 3


def test_a_stream_that_begins_without_a_face_gets_its_wig_when_one_comes(sitter: np.ndarray, green: WigAsset) -> None:
    live = LiveWig(green)
    wall = np.full_like(sitter, 127)
    assert live.frame(wall, 0.0) is wall
    assert not np.array_equal(live.frame(sitter, 0.1), sitter)


def test_a_head_that_lies_on_its_side_wears_the_wig_lying(sitter: np.ndarray, green: WigAsset) -> None:
    upright = _place(LiveWig(green).frame(sitter, 0.0))
    lying = _place(LiveWig(green).frame(np.ascontiguousarray(np.rot90(sitter)), 0.0))

    # A quarter turn counter-clockwise takes (x, y) to (y, width - 1 - x).
    assert lying == pytest.approx([upright[1], WIDTH - 1 - upright[0]], abs=3)


def test_the_wig_darkens_slowly_with_the_light_on_the_face(sitter: np.ndarray, green: WigAsset) -> None:
    def brightness(picture: np.ndarray) -> float:
        part = picture[(picture[..., 1] > picture[..., 0].astype(int) + 40)]
        return float(part[:, 1].mean())

    live = LiveWig(green)
    dark = (sitter * 0.5).astype(np.uint8)
    first = brightness(live.frame(sitter, 0.0))
    shown = [brightness(live.frame(dark, number / 30)) for number in range(1, 121)]

    assert shown[0] > 0.95 * first
    assert shown[-1] < 0.85 * first
    assert np.abs(np.diff(shown)).max() < 0.05 * first


def test_own_hair_is_found_again_by_its_colour_near_its_place() -> None:
    first = np.full((120, 120, 3), (200, 180, 160), np.uint8)
    first[10:50, 30:90] = (40, 30, 25)
    hair = (first[..., 0] < 100).astype(np.float32)
    colours = HairColours(first, hair, np.ones(hair.shape, bool))
    second = np.roll(first, 4, axis=1)
    second[100:, :] = (40, 30, 25)  # a dark shirt, where no hair was

    found = colours.alpha(second, place_of(hair, 60.0))

    assert found[20:40, 40:85].min() > 0.6
    assert found[105:].max() < 0.1
    assert found[20:40, 100:].max() < 0.2


@pytest.mark.parametrize(
    "name",
    ["man_portrait_30fps", "woman_landscape_30fps", "man_glasses_30fps", "rot90_derived", "vfr_derived"],
)
def test_filmed_people_wear_the_wig_steadily_in_every_frame(shared_data: Path, green: WigAsset, name: str) -> None:
    from itertools import islice

    from models.video.source import VideoSource, open_source

    source = open_source(shared_data / "videos" / f"{name}.mp4")
    assert isinstance(source, VideoSource)
    live = LiveWig(green)
    places, widths = [], []
    for frame, time_s in islice(source.frames(), 25):
        scale = 480 / max(frame.shape[:2])
        small = np.asarray(cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
        shown = live.frame(small, time_s)
        same = (shown == small).all(2)
        assert 0.05 < (~same).mean() < 0.75
        places.append(_place(shown))
        rows, columns = np.nonzero(~same)
        widths.append(np.ptp(columns) if name != "rot90_derived" else np.ptp(rows))
    assert live.facts["num_frames_without_face"] == 0
    # A head moves smoothly: what changes from one step to the next is tremble (and the head's own acceleration).
    trembling = np.abs(np.diff(places, n=2, axis=0))[2:]
    assert trembling.mean() < 0.012 * np.mean(widths)


@pytest.fixture
def clip(sitter: np.ndarray, tmp_path: Path) -> Path:
    path = tmp_path / "clip.mp4"
    samples = (0.3 * np.sin(np.arange(48_000) * 0.05)).astype(np.float32)
    with VideoWriter(path, width=WIDTH, height=HEIGHT, fps=12, samples=samples) as writer:
        for number in range(12):
            writer.write(_noisy(sitter, number))
    return path


def _frames(path: Path) -> Iterator[np.ndarray]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


def test_a_video_keeps_length_and_sound_and_says_what_it_is(clip: Path, green: WigAsset, tmp_path: Path) -> None:
    told: list[float] = []
    made = make_live_video(
        clip, green, tmp_path / "out.mp4", disclosure=Disclosure(visible_label=False), on_progress=told.append
    )

    frames = list(_frames(made.path))
    assert len(frames) == 12
    assert frames[0].shape == (HEIGHT, WIDTH, 3)
    assert all(len(frame) and _place(frame).any() for frame in frames)
    with av.open(str(made.path)) as container:
        assert len(container.streams.audio) == 1
    assert made.facts["num_frames"] == 12
    assert made.facts["warnings"] == []
    assert made.marks.xmp() in made.path.read_bytes()
    assert told[-1] == 1.0


def test_a_video_without_any_face_is_refused_and_leaves_no_file(green: WigAsset, tmp_path: Path) -> None:
    path = tmp_path / "wall.mp4"
    with VideoWriter(path, width=64, height=64, fps=10) as writer:
        for _ in range(5):
            writer.write(np.full((64, 64, 3), 90, np.uint8))
    out = tmp_path / "out.mp4"

    with pytest.raises(ContentRejected) as refused:
        make_live_video(path, green, out)

    assert refused.value.code == "face_not_found"
    assert not out.exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["wall.mp4"]


def test_the_label_keeps_off_the_face(sitter: np.ndarray, green: WigAsset, tmp_path: Path) -> None:
    from models.perception.faces import FaceFinder

    face = FaceFinder().find(sitter)[0]
    middle = np.array([face.left + face.width / 2, face.top + face.height / 2])
    boxes = []
    for name, place in (("lower", (0.70, 0.80)), ("upper", (0.35, 0.30))):
        shift = np.array(place) * (WIDTH, HEIGHT) - middle
        matrix = np.column_stack([np.eye(2), shift])
        moved = cv2.warpAffine(sitter, matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE)
        clip = tmp_path / f"{name}.mp4"
        with VideoWriter(clip, width=WIDTH, height=HEIGHT, fps=6) as writer:
            for number in range(6):
                writer.write(_noisy(moved, number))
        shown, bare = (
            next(_frames(make_live_video(clip, green, tmp_path / f"{name}-{wanted}.mp4", disclosure=asked).path))
            for wanted, asked in ((True, Disclosure(visible_label=True)), (False, Disclosure(visible_label=False)))
        )
        changed = np.abs(shown.astype(int) - bare).max(2) > 60
        rows, columns = np.nonzero(changed)
        assert len(rows) > 50
        at = middle + shift
        inside = (np.abs(columns - at[0]) < 0.4 * face.width) & (np.abs(rows - at[1]) < 0.4 * face.height)
        assert not inside.any()
        boxes.append((float(np.median(columns)), float(np.median(rows))))
    assert boxes[0] != boxes[1]
