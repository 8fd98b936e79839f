from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from models.perception.faces import FaceFinder
from models.tryon.region import composite
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.depth import Grid, HeadShape, inflated
from models.tryon.wig.preview import WigInputs, fitting_of, make_wig_previews
from models.tryon.wig.turning import Outline, turned
from models.tryon.wig.turntable import Turntable
from models.tryon.wig.turntable_film import NUM_FRAMES, turntable_yaws
from models.tryon.wig.worn import WornWig, wear
from services.domain.picture_storyboards import ModelShot, ProductShot, WigStoryboard
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure

Presenter = Callable[[str], np.ndarray]


@pytest.fixture
def portrait(presenter: Presenter, tmp_path: Path) -> Path:
    path = tmp_path / "portrait.png"
    Image.fromarray(presenter("max")).save(path)
    return path


@pytest.fixture
def worn(portrait: Path, wig: WigAsset) -> WornWig:
    sitter = fitting_of(portrait, None, max_pixels=10**8).sitter
    return wear(sitter, wig.picture_rgba, wig.landmarks, wig.light)


def test_a_strip_is_inflated_to_the_ellipse_that_poissons_equation_has_for_it() -> None:
    cell, half = 4, 10.0  # the strip's edges lie half a cell outside its outermost nodes
    domain = np.zeros((60, 31), bool)
    domain[:, 6:25] = True  # 19 nodes; height 0 at nodes 5 and 25

    heights = inflated(domain, np.zeros_like(domain), np.zeros(domain.shape, np.float32), cell)

    x = np.arange(31) - 15.0
    expected = cell * np.sqrt(np.maximum(3.2 / 2 * (half**2 - x**2), 0))  # w'' = -3.2, w(+-10) = 0, z = sqrt(w)
    assert np.allclose(heights[30], expected, atol=0.02 * cell * half)


@pytest.mark.parametrize("degrees", [-30.0, -10.0, 10.0, 30.0])
def test_marks_on_a_cylinder_go_where_its_turn_takes_them(degrees: float) -> None:
    radius, middle = 100.0, 200.0
    grid = Grid(cell=2, width=400, height=40)
    # A camera far away (faces are much smaller than the distance to it), and the axis in the cylinder's own middle.
    shape = HeadShape(x=middle, z=0.0, eye_y=20.0, chin=(middle, 1e6), face_width=1e6, tilt=0.0)
    rows = grid.shape[0]
    heights = np.sqrt(np.maximum(radius**2 - (grid.x - middle) ** 2, 0)).astype(np.float32)
    edge = np.full(rows, radius, np.float32)
    outline = Outline(left=middle - edge, right=middle + edge, back=edge, left_run=2 * edge, right_run=2 * edge)

    angles = np.full(rows, np.radians(degrees), np.float32)
    lookup = turned(grid, shape, np.tile(heights, (rows, 1)), outline, angles, least_slope=0.0, repeats=False)

    mark = np.radians(np.array([-40.0, -20.0, 0.0, 20.0, 40.0]))  # on the front, clear of the silhouettes
    before, after = middle + radius * np.sin(mark), middle + radius * np.sin(mark + np.radians(degrees))
    found = np.interp(after, grid.x, lookup.texture[rows // 2])
    assert np.allclose(found, before, atol=2.0)


def test_a_view_that_is_not_turned_is_the_front(worn: WornWig) -> None:
    picture = worn.sitter.picture_rgb
    front = composite(picture, worn.overlay()).astype(int)
    view = composite(picture, Turntable(worn).view(0.0).overlay).astype(int)

    difference = np.abs(view - front).max(2)
    assert difference.mean() < 1.0
    assert (difference > 40).mean() < 0.01


@pytest.mark.parametrize("yaw", [-30.0, 30.0])
def test_shoulders_and_background_keep_still_to_the_bit(worn: WornWig, yaw: float) -> None:
    picture = worn.sitter.picture_rgb
    points, face_width = worn.sitter.points, worn.sitter.face_width
    overlay = Turntable(worn).view(yaw).overlay
    turned_picture = composite(picture, overlay)

    assert np.array_equal(turned_picture[~overlay.changed()], picture[~overlay.changed()])
    below = int(points[152, 1] + 1.2 * face_width)
    assert np.array_equal(turned_picture[below:], picture[below:])
    aside = int(points[234, 0] - 0.6 * face_width)
    assert np.array_equal(turned_picture[:, :aside], picture[:, :aside])
    face = worn.sitter.points[[1, 33, 263, 152], :2].astype(int)
    assert overlay.changed()[face[:, 1], face[:, 0]].all()


def test_the_face_mesh_sees_the_head_turn_as_far_as_asked(worn: WornWig) -> None:
    picture, finder, table = worn.sitter.picture_rgb, FaceFinder(), Turntable(worn)
    seen = {}
    for yaw in (-20.0, 0.0, 20.0):
        view = composite(picture, table.view(yaw).overlay)
        (box,) = finder.find(view)
        seen[yaw] = np.degrees(finder.landmarks(view, box).yaw)

    assert seen[20.0] - seen[0.0] == pytest.approx(20, abs=8)
    assert seen[0.0] - seen[-20.0] == pytest.approx(20, abs=8)


@pytest.mark.parametrize("yaw", [-30.0, 30.0])
def test_the_wig_neither_leaves_the_head_nor_loses_its_colour(worn: WornWig, yaw: float) -> None:
    view = Turntable(worn).view(yaw)
    _, _, before, _ = worn.parts
    _, person, wig, _ = view.parts
    assert 0.75 < wig.sum() / before.sum() < 1.6
    # Between the forehead and the top of the wig nothing but wig and head: no gap opens.
    points, face_width = worn.sitter.points, worn.sitter.face_width
    depth = 0.5 * face_width  # of the forehead in front of the ears
    column = int(points[[234, 454], 0].mean() + depth * np.sin(np.radians(yaw)))
    covered = np.maximum(person, wig)[:, column]
    top = int(np.flatnonzero(covered > 0.9).min())
    assert (covered[top + 3 : int(points[10, 1])] > 0.9).all()
    colour = view.overlay.premultiplied[wig > 0.97].mean(0)
    front = worn.wig_rgba[worn.wig_rgba[..., 3] > 250][:, :3].mean(0)
    assert np.abs(colour - front).max() < 12


def test_the_films_angles_go_round_without_a_jump() -> None:
    yaws = turntable_yaws()

    steps = np.abs(np.diff([*yaws, yaws[0]]))
    assert (min(yaws), max(yaws)) == pytest.approx((-30, 30))
    assert len(yaws) == NUM_FRAMES
    assert steps.max() < 2.5
    assert sum(yaws) == pytest.approx(0, abs=1e-6)


def test_views_and_film_come_with_the_previews(portrait: Path, wig: WigAsset, tmp_path: Path) -> None:
    storyboard = WigStoryboard(
        job_id="job_1",
        model=ModelShot(key="uploads/portrait"),
        wig=(ProductShot(photo_key="uploads/wig"),),
        background=BackgroundShot(kind=BackgroundKind.ORIGINAL),
        yaw_deg=(0.0, -20.0, 40.0),
        turntable=True,
        disclosure=Disclosure(visible_label=True),
    )
    previews = make_wig_previews(WigInputs(storyboard=storyboard, model=portrait, assets=[wig]), out_dir=tmp_path)

    assert {"front", "view_m20", "view_p40", "turntable", "sheet"} <= set(previews.files)
    assert previews.usage == {"pictures": 3.0, "turntables": 1.0}
    assert any("40" in warning or "30 degrees" in warning for warning in previews.facts["warnings"])
    assert np.array(Image.open(previews.files["view_m20"])).shape == np.array(Image.open(portrait)).shape
    data = previews.files["turntable"].read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # playable while it loads
    assert previews.marks["turntable"].xmp() in data
    with av.open(str(previews.files["turntable"])) as film:
        assert film.streams.video[0].average_rate == 25
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
    assert len(frames) == NUM_FRAMES
    steps = [np.abs(one - other).mean() for one, other in pairwise(frames)]
    assert np.abs(frames[-1] - frames[0]).mean() < 1.5 * max(steps)
    corner = frames[0][-24:, :24]
    assert max(np.abs(frame[-24:, :24] - corner).mean() for frame in frames) < 3  # the background keeps still
