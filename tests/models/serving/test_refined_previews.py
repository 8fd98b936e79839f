"""The generative pass through the preview tasks, on a real architecture with tiny random weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models import weights
from services.domain.engine import AnswerState, EngineAnswer, EngineKind
from services.domain.picture_storyboards import GarmentStoryboard, ModelShot, ProductShot, WigStoryboard
from services.domain.product import GarmentCategory
from services.domain.video import Disclosure
from services.settings import Settings
from tests.drawn_products import bob, tee
from tests.models.serving.conftest import MemoryObjects
from tests.models.serving.test_picture_tasks import JOB, ORIGINAL, Bench

Pixels = NDArray[np.uint8]

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")


class RefiningBench(Bench):
    """An engine whose operator has configured a checkpoint."""

    def __init__(self, store: MemoryObjects, folder: Path, checkpoints_file: Path) -> None:
        super().__init__(store, folder)
        self._settings = Settings(
            state_dir=folder / "state", checkpoints_file=str(checkpoints_file), refine_checkpoint="tiny"
        )


@pytest.fixture
def bench(store: MemoryObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RefiningBench]:
    from models.diffusion.checkpoints import Family
    from models.diffusion.pipelines import load_generator
    from tests.models.diffusion import tiny_checkpoints

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(Family, "side_px", 64)
    folder = tmp_path / "checkpoint"
    tiny_checkpoints.sd15(folder)
    listed = tmp_path / "checkpoints.toml"
    listed.write_text(
        f'[[checkpoint]]\nname = "tiny"\nfamily = "sd15"\nsource = "folder:{folder}"\nlicence = "random numbers"\n'
        "commercial_use = true\nnum_inference_steps = 4\nstrength = 0.6\nmax_change = 1e9\n"
    )
    yield RefiningBench(store, tmp_path, listed)
    torch.set_num_threads(threads)
    load_generator.cache_clear()


def shown(bench: RefiningBench, answer: EngineAnswer, *roles: str) -> list[Pixels]:
    assert answer.state is AnswerState.SUCCEEDED, answer.failure
    files = bench.files(answer)
    return [np.array(Image.open(files[role])) for role in roles]


def check(before: Pixels, plain: Pixels, refined: Pixels, mask: Pixels, core: NDArray[np.bool_]) -> None:
    """The pass did something, and neither to the product's core nor to pixels that the mask does not own up to."""
    assert core.sum() > 2000
    assert np.array_equal(refined[core], plain[core])
    assert np.array_equal(refined[mask == 0], before[mask == 0])
    touched = (refined != plain).any(2)
    assert 0.003 < touched.mean() < 0.4
    assert (mask[touched] > 0).all()


def eroded(mask: NDArray[np.bool_], px: int) -> NDArray[np.bool_]:
    return np.asarray(cv2.erode(mask.astype(np.uint8), np.ones((2 * px + 1,) * 2, np.uint8)) > 0)


def test_refining_a_wig_keeps_its_core_and_everything_outside_the_mask(bench: RefiningBench) -> None:
    data = weights.path("avatar-vera").read_bytes()
    shot = ProductShot(photo_key=bench.put("wig", bob()))

    def made(refine: bool) -> EngineAnswer:
        return bench.run(
            EngineKind.WIG_PREVIEW,
            WigStoryboard(
                job_id=JOB,
                model=ModelShot(key=bench.put("model", data)),
                wig=(shot,),
                background=ORIGINAL,
                colours=("#20c040",),
                disclosure=Disclosure(visible_label=False),
                refine=refine,
            ),
        )

    answer = made(True)
    front, mask, green = shown(bench, answer, "front", "front_mask", "colour_20c040")
    plain, plain_green = shown(bench, made(False), "front", "colour_20c040")
    (before,) = (np.array(Image.open(path).convert("RGB")) for path in [weights.path("avatar-vera")])
    # Nothing but the drawn hair turns green: so the product is where the two colours differ by much.
    dyed = plain_green.astype(int)[..., 1] - plain_green.astype(int)[..., 0] > 60
    core = eroded(dyed, round(0.03 * before.shape[1]))
    check(before, plain, front, mask, core)
    check(before, plain_green, green, mask, core)
    assert answer.facts["refine_checkpoint"] == "tiny"
    assert answer.facts["refined_roles"] == ["colour_20c040", "front"]


def test_refining_a_garment_keeps_its_core_and_everything_outside_the_mask(bench: RefiningBench) -> None:
    data = weights.path("model-vera-studio").read_bytes()
    shot = ProductShot(photo_key=bench.put("garment", tee((30, 190, 60))))

    def made(refine: bool) -> EngineAnswer:
        return bench.run(
            EngineKind.GARMENT_PREVIEW,
            GarmentStoryboard(
                job_id=JOB,
                model=ModelShot(key=bench.put("model", data)),
                garment=(shot,),
                category=GarmentCategory.TOP,
                background=ORIGINAL,
                disclosure=Disclosure(visible_label=False),
                refine=refine,
            ),
        )

    answer = made(True)
    picture, mask = shown(bench, answer, "picture", "mask")
    (plain,) = shown(bench, made(False), "picture")
    before = np.array(Image.open(weights.path("model-vera-studio")).convert("RGB"))
    wide = plain.astype(int)
    cloth = (wide[..., 1] - wide[..., 0] > 40) & (wide[..., 1] - wide[..., 2] > 40)
    check(before, plain, picture, mask, eroded(cloth, round(0.02 * before.shape[1])))
    assert answer.facts["refined"] is True


def test_refining_without_a_configured_checkpoint_is_refused_by_name(store: MemoryObjects, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    board = WigStoryboard(
        job_id=JOB,
        model=ModelShot(key=bench.put("model", weights.path("avatar-vera").read_bytes())),
        wig=(ProductShot(photo_key=bench.put("wig", bob())),),
        background=ORIGINAL,
        refine=True,
    )
    answer = bench.run(EngineKind.WIG_PREVIEW, board)
    assert answer.failure is not None
    assert answer.failure.code == "checkpoint_not_configured"
