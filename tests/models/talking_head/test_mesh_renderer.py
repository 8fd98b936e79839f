"""The mesh engine as seen from outside: pixels, and a detector that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from models import weights
from models.perception.face import FaceLandmarks
from models.perception.faces import FaceFinder
from models.talking_head.mesh.engine import MeshRenderer, MeshState
from models.talking_head.tracks import HeadTrack, MouthTrack
from models.video.yuv import i420_to_rgb, planes, rgb_to_i420
from tests.models.talking_head.observer import Observer

AVATARS = ("avatar-max", "avatar-vera", "avatar-tom", "avatar-ellen")


@dataclass(frozen=True)
class Portrait:
    frame: np.ndarray
    landmarks: FaceLandmarks
    state: MeshState


@pytest.fixture(scope="module")
def observer() -> Observer:
    return Observer()


@cache
def finder() -> FaceFinder:
    return FaceFinder()


def ready(picture_rgb: np.ndarray, height: int = 1080) -> Portrait:
    """The picture at a height of ``height``, prepared."""
    width = round(picture_rgb.shape[1] * height / picture_rgb.shape[0]) // 2 * 2
    picture_rgb = cv2.resize(picture_rgb, (width, height), interpolation=cv2.INTER_AREA)
    faces = finder().find(picture_rgb)
    landmarks = finder().landmarks(picture_rgb, max(faces, key=lambda face: face.width))
    frame = rgb_to_i420(picture_rgb)
    return Portrait(frame, landmarks, MeshRenderer().prepare(frame, landmarks))


@cache
def avatar(name: str) -> Portrait:
    return ready(np.array(Image.open(weights.path(name)).convert("RGB")))


@pytest.fixture(scope="session")
def shared_portrait(shared_data: Path) -> Callable[[str], Portrait]:
    return lambda name: ready(np.array(Image.open(shared_data / "portraits" / name).convert("RGB")))


def mouth(num_frames: int = 1, **curves: float | np.ndarray) -> MouthTrack:
    full = {"aperture": 0.0, "width": 1.0, "pucker": 0.0, "teeth": 0.0, "tongue": 0.0, **curves}
    arrays = {name: np.broadcast_to(np.float32(value), num_frames) for name, value in full.items()}
    closed = arrays["aperture"] <= 0
    return MouthTrack(fps=25, **arrays, closed=closed, speaking=~closed)


def head(num_frames: int = 1, **curves: float | np.ndarray) -> HeadTrack:
    names = ("yaw", "pitch", "roll", "shift_x", "shift_y", "blink", "brow")
    return HeadTrack(**{name: np.broadcast_to(np.float32(curves.get(name, 0)), num_frames) for name in names})


def drawn(
    portrait: Portrait, mouth_track: MouthTrack, head_track: HeadTrack | None = None, index: int = 0
) -> np.ndarray:
    out = portrait.frame.copy()
    MeshRenderer().render(portrait.state, mouth_track, head_track, index, out)
    return out


def gap(observer: Observer, portrait: Portrait, aperture: float) -> float:
    return observer.gap(i420_to_rgb(drawn(portrait, mouth(aperture=aperture))), portrait.landmarks)


@pytest.mark.parametrize("name", AVATARS)
def test_nothing_outside_the_region_is_touched(name):
    portrait = avatar(name)
    x0, y0, x1, y1 = portrait.state.region
    out = drawn(portrait, mouth(aperture=0.4), head(yaw=0.05, pitch=-0.03, roll=0.03, shift_x=0.01, blink=1, brow=1))
    assert any(not np.array_equal(a, b) for a, b in zip(planes(out), planes(portrait.frame), strict=True))
    for plane, source, scale in zip(planes(out), planes(portrait.frame), (1, 2, 2), strict=True):
        changed = plane != source
        changed[y0 // scale : y1 // scale, x0 // scale : x1 // scale] = False
        assert not changed.any()


def test_a_small_face_leaves_most_of_a_wide_picture_identical():
    picture = np.array(Image.open(weights.path("avatar-max")).convert("RGB"))
    small = cv2.resize(picture, (192, 256), interpolation=cv2.INTER_AREA)
    wide = np.full((720, 1280, 3), 170, np.uint8)
    wide[:] += np.random.default_rng(0).integers(0, 40, wide.shape, np.uint8)
    wide[300:556, 500:692] = small
    portrait = ready(wide, 720)
    out = drawn(portrait, mouth(aperture=0.4), head(yaw=0.05, shift_x=0.02))
    assert np.mean(planes(out).y != planes(portrait.frame).y) < 0.15
    x0, y0, x1, y1 = portrait.state.region
    assert 400 < x0 < x1 < 800
    assert all(value % 2 == 0 for value in (x0, y0, x1, y1))


@pytest.mark.parametrize(("rows", "columns"), [((300, 900), (0, 420)), ((0, 460), (0, 810)), ((420, 1080), (380, 810))])
def test_a_face_cut_off_by_the_frame_is_drawn_as_far_as_it_goes(rows, columns):
    whole = avatar("avatar-max")
    picture = np.ascontiguousarray(i420_to_rgb(whole.frame)[slice(*rows), slice(*columns)])
    landmarks = replace(whole.landmarks, points=whole.landmarks.points - np.float32([columns[0], rows[0], 0]))
    frame = rgb_to_i420(picture)
    portrait = Portrait(frame, landmarks, MeshRenderer().prepare(frame, landmarks))
    out = drawn(portrait, mouth(aperture=0.3), head(yaw=0.05, roll=0.04, blink=0.7, brow=1))
    x0, y0, x1, y1 = portrait.state.region
    assert 0 <= x0 < x1 <= picture.shape[1]
    assert 0 <= y0 < y1 <= picture.shape[0]
    changed = planes(out).y != planes(frame).y
    changed[y0:y1, x0:x1] = False
    assert not changed.any()


def test_the_region_ends_in_the_source_own_pixels():
    portrait = avatar("avatar-tom")
    x0, y0, x1, y1 = portrait.state.region
    out = planes(drawn(portrait, mouth(aperture=0.4), head(yaw=0.06, pitch=0.04, roll=0.04))).y
    source = planes(portrait.frame).y
    assert np.array_equal(out[y0, x0:x1], source[y0, x0:x1])
    assert np.array_equal(out[y0:y1, x0], source[y0:y1, x0])
    assert np.array_equal(out[y0:y1, x1 - 1], source[y0:y1, x1 - 1])


def test_a_closed_source_at_rest_looks_like_itself():
    portrait = avatar("avatar-max")
    out = planes(drawn(portrait, mouth(), head())).y.astype(float)
    error = np.abs(out - planes(portrait.frame).y)
    assert error.mean() < 0.5
    assert np.mean(error > 25) < 0.001


@pytest.mark.parametrize("name", AVATARS)
def test_a_closed_mouth_is_closed_to_an_independent_eye(observer, name):
    assert gap(observer, avatar(name), -0.03) < 0.045


@pytest.mark.parametrize(
    "name", ["woman_smile_tilt.jpg", "astronaut.png", "cartoon_man_teeth.png", "woman_neutral.jpg"]
)
def test_a_smile_with_teeth_is_closed_by_the_renderer(observer, shared_portrait, name):
    portrait = shared_portrait(name)
    before = observer.gap(i420_to_rgb(portrait.frame), portrait.landmarks)
    assert before > 0.04
    assert gap(observer, portrait, -0.03) < 0.75 * before
    assert gap(observer, portrait, -0.03) < 0.04


@pytest.mark.parametrize("name", ["avatar-tom", "avatar-vera", "avatar-ellen"])
def test_the_seen_opening_follows_the_aperture(observer, name):
    apertures = np.array([0, 0.06, 0.12, 0.18, 0.24, 0.30, 0.36])
    seen = np.array([gap(observer, avatar(name), aperture) for aperture in apertures])
    assert np.corrcoef(apertures, seen)[0, 1] > 0.95
    assert seen[-1] > 0.18
    assert np.all(np.diff(seen[::2]) > 0.02)


def test_rounded_lips_are_narrower_and_a_wide_vowel_wider(observer):
    portrait = avatar("avatar-vera")

    def width(**pose: float) -> float:
        return observer.mouth_width(i420_to_rgb(drawn(portrait, mouth(aperture=0.1, **pose))), portrait.landmarks)

    rest = width()
    assert width(width=0.68, pucker=1) < 0.85 * rest
    assert width(width=1.12) > 1.04 * rest


@pytest.mark.parametrize("name", AVATARS)
def test_a_blink_hides_the_iris(observer, name):
    portrait = avatar(name)
    picture = i420_to_rgb(portrait.frame)
    closed = i420_to_rgb(drawn(portrait, mouth(), head(blink=1)))
    for area in observer.eye_boxes(picture, portrait.landmarks):
        open_luma, shut_luma = (cv2.cvtColor(view[area], cv2.COLOR_RGB2GRAY) for view in (picture, closed))
        assert np.percentile(shut_luma, 30) > 1.2 * np.percentile(open_luma, 30)


def test_half_a_blink_narrows_the_eyes_only(observer):
    portrait = avatar("avatar-tom")
    still, half = (i420_to_rgb(drawn(portrait, mouth(), head(blink=blink))) for blink in (0, 0.4))

    def openness(picture: np.ndarray) -> float:
        points = observer.points(picture, portrait.landmarks)
        return float(points[[40, 41, 46, 47], 1].mean() - points[[37, 38, 43, 44], 1].mean())

    assert openness(half) < 0.85 * openness(still)
    lips = int(portrait.landmarks.points[13, 1])
    assert np.array_equal(still[lips - 20 :], half[lips - 20 :])


def _above_the_eyes(portrait: Portrait) -> np.ndarray:
    """Pixels between the open upper lids, with the height of their lashes, and the brows."""
    inside = np.zeros(planes(portrait.frame).y.shape, bool)
    for upper in ((160, 159, 158), (385, 386, 387)):
        points = portrait.landmarks.points[list(upper), :2]
        height = 0.045 * portrait.landmarks.width
        low, high = points.min(0), points.max(0)
        inside[int(low[1] - height) : int(low[1] - 0.1 * height), int(low[0]) : int(high[0])] = True
    return inside


def test_a_blink_takes_long_lashes_off_the_skin_above_the_eye(shared_portrait):
    portrait = shared_portrait("asian_woman_ai.png")
    area = _above_the_eyes(portrait)
    still, shut = (planes(drawn(portrait, mouth(), head(blink=blink))).y[area] for blink in (0, 1))
    skin = np.median(shut)
    assert np.mean(still < 0.75 * skin) > 0.1
    assert np.mean(shut < 0.75 * skin) < 0.25 * np.mean(still < 0.75 * skin)


def test_a_blink_leaves_the_rims_of_glasses(shared_portrait):
    portrait = shared_portrait("man_glasses.png")
    still, shut = (planes(drawn(portrait, mouth(), head(blink=blink))).y.astype(float) for blink in (0, 1))
    points = portrait.landmarks.points[:, :2]
    changed_rim = []
    for upper, brow in (((246, 161, 160, 159, 158, 157, 173), 65), ((398, 384, 385, 386, 387, 388, 466), 295)):
        top, bottom = points[brow, 1], points[list(upper), 1].min() - 2
        left, right = points[list(upper), 0].min(), points[list(upper), 0].max()
        area = (slice(int(top), int(bottom)), slice(int(left), int(right)))
        dark = still[area] < 60
        changed_rim.append(np.mean(np.abs(shut[area] - still[area])[dark] > 40))
    assert max(changed_rim) < 0.05


def test_the_same_pose_gives_the_same_pixels_whatever_was_drawn_before():
    portrait = avatar("avatar-vera")
    track, motion = mouth(3, aperture=np.array([0.1, 0.36, 0.1])), head(3, yaw=np.array([0.02, -0.04, 0.02]))
    first, again = drawn(portrait, track, motion, 0), None
    drawn(portrait, track, motion, 1)
    again = drawn(portrait, track, motion, 2)
    assert np.array_equal(first, again)


def test_motion_between_close_poses_is_small():
    portrait = avatar("avatar-ellen")
    apertures = np.linspace(0, 0.36, 73)
    frames = [planes(drawn(portrait, mouth(aperture=value))).y.astype(float) for value in apertures[::8]]
    near = planes(drawn(portrait, mouth(aperture=apertures[8] + 0.002))).y.astype(float)
    assert np.abs(near - frames[1]).max() < 40  # no pixel jumps: no triangle flips, no seam appears
    assert np.abs(frames[-1] - frames[0]).max() > 60


def test_a_turned_face_is_told_and_moves_less():
    portrait = avatar("avatar-tom")
    turned = replace(portrait.landmarks, yaw=0.7)
    state = MeshRenderer().prepare(portrait.frame, turned)
    assert "turned_face" in state.warnings
    assert portrait.state.warnings == ()
    strong, soft = portrait.frame.copy(), portrait.frame.copy()
    MeshRenderer().render(portrait.state, mouth(aperture=0.36), None, 0, strong)
    MeshRenderer().render(state, mouth(aperture=0.36), None, 0, soft)
    base = planes(portrait.frame).y.astype(float)
    assert np.abs(planes(soft).y - base).mean() < 0.8 * np.abs(planes(strong).y - base).mean()


def video_frame(path: Path, index: int) -> Portrait:
    """A frame of a video, prepared as one."""
    capture = cv2.VideoCapture(str(path))
    capture.set(cv2.CAP_PROP_POS_FRAMES, index)
    rgb = cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2RGB)
    rgb = np.ascontiguousarray(rgb[: rgb.shape[0] // 2 * 2, : rgb.shape[1] // 2 * 2])
    landmarks = finder().landmarks(rgb, max(finder().find(rgb), key=lambda face: face.width))
    frame = rgb_to_i420(rgb)
    return Portrait(frame, landmarks, MeshRenderer().prepare(frame, landmarks, moving=True))


def profile(plane: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """60 samples of a Y or, at half its pixels, U or V plane."""
    points = np.linspace(start, end, 60).astype(np.float32)
    return cv2.remap(plane, points[None], None, cv2.INTER_LINEAR)[0].astype(float)


@pytest.mark.parametrize("index", [30, 40])
def test_closing_a_mouth_that_speaks_in_a_video_does_not_squeeze_its_lower_lip(shared_data, index):
    portrait = video_frame(shared_data / "videos" / "man_speaking_25fps.mp4", index)
    points = portrait.landmarks.points[:, :2]
    assert np.linalg.norm(points[13] - points[14]) > 0.3 * np.linalg.norm(points[78] - points[308])
    closed = drawn(portrait, mouth())
    down = (points[152] - points[168]) / np.linalg.norm(points[152] - points[168])
    reach = 0.5 * np.linalg.norm(points[78] - points[308])
    red = [
        profile(planes(frame).v, start / 2, (start + reach * down) / 2)
        for frame, start in ((portrait.frame, points[14]), (closed, points[13] + 0.3 * (points[14] - points[13])))
    ]
    threshold = (red[0].max() + red[0][-8:].mean()) / 2
    before, after = (np.sum(line > threshold) for line in red)
    assert after > 0.75 * before


def test_teeth_of_a_smiling_video_stay_about_as_light_as_they_are(shared_data):
    portrait = video_frame(shared_data / "videos" / "woman_landscape_30fps.mp4", 20)
    points = portrait.landmarks.points[:, :2]
    upper, lower = points[[80, 81, 82, 13, 312, 311, 310]], points[[88, 178, 87, 14, 317, 402, 318]]
    x, y = (upper + 0.33 * (lower - upper)).astype(int).T  # on the upper teeth, in the source and in the film
    own = np.percentile(planes(portrait.frame).y[y, x], 80)
    shown = np.percentile(planes(drawn(portrait, mouth(aperture=0.22))).y[y, x], 80)
    assert 0.75 * own < shown < 1.1 * own


def test_a_mouth_wide_open_in_the_source_is_told(shared_portrait):
    assert "mouth_wide_open" in shared_portrait("woman_mouthopen.jpg").state.warnings


def test_a_video_frame_gets_a_new_mouth_and_keeps_its_eyes(observer):
    portrait = avatar("avatar-tom")
    state = MeshRenderer().prepare(portrait.frame, portrait.landmarks, moving=True)
    out = portrait.frame.copy()
    MeshRenderer().render(state, mouth(aperture=0.36), head(blink=1, yaw=0.05), 0, out)
    assert observer.gap(i420_to_rgb(out), portrait.landmarks) > 0.15
    eyes = int(portrait.landmarks.points[[33, 263], 1].max()) + 8
    assert np.array_equal(planes(out).y[:eyes], planes(portrait.frame).y[:eyes])


def test_a_speaking_source_video_is_silenced(observer, shared_data):
    capture = cv2.VideoCapture(str(shared_data / "videos" / "man_speaking_25fps.mp4"))
    before, after = [], []
    state: MeshState | None = None
    renderer = MeshRenderer()
    while True:
        ok, bgr = capture.read()
        if not ok:
            break
        if int(capture.get(cv2.CAP_PROP_POS_FRAMES)) % 10:
            continue
        picture = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
        landmarks = finder().landmarks(picture, finder().find(picture)[0])
        frame = rgb_to_i420(picture)
        state = renderer.prepare(frame, landmarks, previous=state, moving=True)
        out = frame.copy()
        renderer.render(state, mouth(), None, 0, out)
        before.append(observer.gap(picture, landmarks))
        after.append(observer.gap(i420_to_rgb(out), landmarks))
    assert len(before) > 10
    assert max(before) > 0.15
    assert np.mean(after) < 0.35 * np.mean(before)
