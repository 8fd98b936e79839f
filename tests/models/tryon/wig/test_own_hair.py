from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.own_hair import BareSitter, take_hair_away
from models.tryon.wig.removable import require_removable
from models.tryon.wig.seeing import SeenHead
from models.tryon.wig.worn import wear
from services.domain.errors import ContentRejected

Head = Callable[[float, float, float], np.ndarray]
SKIN, HAIR, SHIRT = (205, 165, 145), (45, 30, 25), (60, 80, 140)


def _drawn(points: np.ndarray, *, hair_radius: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Picture, person matte, hair matte and background of a sitter drawn flat: face, a ball of dark hair, a shirt."""
    import cv2

    height, width = 520, 480
    x = np.linspace(150, 230, width)
    background = np.dstack([np.tile(x, (height, 1))] * 3).astype(np.uint8)
    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    centre = tuple(int(v) for v in points[[234, 454], :2].mean(0))
    hair = np.zeros((height, width), np.uint8)
    cv2.ellipse(hair, centre, (int(0.8 * hair_radius * face_width), int(hair_radius * face_width)), 0, 0, 360, 255, -1)
    face = np.zeros_like(hair)
    cv2.fillPoly(face, [np.round(points[list(FACE_OVAL), :2]).astype(np.int32)], 255)
    neck = np.zeros_like(hair)
    chin = points[152, :2].astype(int)
    cv2.rectangle(neck, (int(chin[0] - 40), int(chin[1] - 40)), (int(chin[0] + 40), int(chin[1] + 70)), 255, -1)
    shirt = np.zeros_like(hair)
    cv2.ellipse(shirt, (int(chin[0]), height + 20), (190, height + 20 - int(chin[1]) - 55), 0, 0, 360, 255, -1)
    picture = background.copy()
    for mask, colour in ((hair, HAIR), (neck, SKIN), (shirt, SHIRT), (face, SKIN)):
        soft = cv2.GaussianBlur(mask, (0, 0), 1.2)[..., None] / 255
        picture = np.rint(picture * (1 - soft) + np.array(colour) * soft).astype(np.uint8)
    person = cv2.GaussianBlur(np.maximum.reduce([hair, neck, shirt, face]), (0, 0), 1.2) / np.float32(255)
    own = cv2.GaussianBlur(np.where((face > 0) | (neck > 0) | (shirt > 0), 0, hair), (0, 0), 1.2) / np.float32(255)
    return picture, person.astype(np.float32), own.astype(np.float32), background


def _bare(sitter: BareSitter) -> np.ndarray:
    alpha = sitter.person_alpha[..., None]
    shown = sitter.plate_rgb * (1 - alpha) + sitter.person_rgb * alpha
    removed = sitter.removed[..., None]
    return sitter.picture_rgb * (1 - removed) + shown * removed


def test_hair_goes_without_a_halo(head: Head) -> None:
    points = head(240, 210, 150)
    picture, person, hair, background = _drawn(points)
    bare = _bare(take_hair_away(picture, points, person, hair))

    # Beside the head, where hair was, there is background again, right up to where its rim had been.
    y, x = np.mgrid[:520, :480]
    away = (np.abs(x - 240) > 0.62 * 150) | (y < 66)  # a head is half a face width to each side
    checked = (hair > 0.01) & away & (y < 250)
    assert checked.sum() > 3000
    assert np.abs(bare[checked] - background[checked]).max() < 14
    assert np.abs(bare[checked] - background[checked]).mean() < 4


def test_a_scalp_of_the_sitters_skin_is_under_the_hair(head: Head) -> None:
    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    bare = _bare(take_hair_away(picture, points, person, hair))

    above_forehead = bare[int(points[10, 1]) - 14, 225:255]
    assert np.abs(above_forehead - SKIN).max() < 45
    assert np.abs(above_forehead - HAIR).min() > 60


def test_shoulders_go_on_under_long_hair(head: Head) -> None:
    points = head(240, 180, 150)
    picture, person, hair, _ = _drawn(points)
    lock = np.zeros(hair.shape, bool)
    lock[250:440, 300:350] = True  # a lock over the left shoulder
    picture[lock], hair[lock], person[lock] = HAIR, 1, 1
    bare = _bare(take_hair_away(picture, points, person, hair))

    middle_of_lock = bare[400:430, 310:340].reshape(-1, 3)
    assert np.abs(np.median(middle_of_lock, axis=0) - SHIRT).max() < 20


def test_what_is_far_from_hair_is_not_in_the_changed_region(head: Head) -> None:
    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    sitter = take_hair_away(picture, points, person, hair)

    eyes_to_chin = np.round(points[[33, 263, 1, 13, 152], :2]).astype(int)
    assert (sitter.removed[eyes_to_chin[:, 1], eyes_to_chin[:, 0]] == 0).all()
    assert (sitter.removed[480:] == 0).all()


def test_a_high_bald_head_does_not_stand_out_of_a_flat_wig(head: Head, wig: WigAsset) -> None:
    points = head(240, 240, 150)
    picture, person, _, background = _drawn(points, hair_radius=1.0)
    picture = np.where(
        (person > 0.5)[..., None] & (np.abs(picture.astype(int) - HAIR).max(2) < 40)[..., None], SKIN, picture
    )
    picture = picture.astype(np.uint8)  # the ball is skin now: a very high skull
    sitter = take_hair_away(picture, points, person, np.zeros_like(person))
    flat = wig.picture_rgba.copy()
    flat[: int(200 - 0.75 * 180), :, 3] = 0  # a wig that ends three quarters of a face width above the ears
    worn = wear(sitter, flat, wig.landmarks, wig.light)
    overlay = worn.overlay()
    shown = picture * (1 - overlay.alpha[..., None]) + overlay.premultiplied

    crown = shown[100:118, 225:255]
    assert np.abs(np.median(crown, axis=(0, 1)) - np.median(background[100:118, 225:255], axis=(0, 1))).max() < 20


def test_a_hat_that_cannot_be_told_apart_is_refused_by_name(head: Head, wig: WigAsset) -> None:
    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    worn = wear(take_hair_away(picture, points, person, hair), wig.picture_rgba, wig.landmarks, wig.light)
    unsure = SeenHead(points=points, person=person, hair=hair, confidence=0.1)
    covered = SeenHead(points=points, person=person, hair=hair, confidence=0.9, is_covered=True)
    sure = SeenHead(points=points, person=person, hair=hair, confidence=0.9)

    require_removable(sure, worn)
    for seen in (unsure, covered):
        with pytest.raises(ContentRejected) as refused:
            require_removable(seen, worn)
        assert refused.value.code == "hair_not_removable"


def test_hair_far_larger_than_the_wig_is_refused_by_name(head: Head, wig: WigAsset) -> None:
    points = head(240, 230, 80)
    picture, person, hair, _ = _drawn(points, hair_radius=2.4)
    worn = wear(take_hair_away(picture, points, person, hair), wig.picture_rgba, wig.landmarks, wig.light)

    with pytest.raises(ContentRejected) as refused:
        require_removable(SeenHead(points=points, person=person, hair=hair, confidence=1.0), worn)
    assert refused.value.code == "hair_not_removable"


def test_a_wig_whose_opening_is_wider_than_the_head_shows_forehead_and_no_background(head: Head, wig: WigAsset) -> None:
    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    narrow = wig.landmarks.copy()  # made for a narrower head: on this one its hairline lies further out
    narrow[:, 0] = 200 + (narrow[:, 0] - 200) * 0.8
    overlay = wear(take_hair_away(picture, points, person, hair), wig.picture_rgba, narrow, wig.light).overlay()
    shown = picture * (1 - overlay.alpha[..., None]) + overlay.premultiplied

    temple = shown[int(points[9, 1]) - 12 : int(points[9, 1]), 240 - 82 : 240 + 83]
    # Skin is redder than it is blue by 60, hair by 20 to 56; the grey background not at all.
    assert (temple[..., 0] - temple[..., 2]).min() > 8
