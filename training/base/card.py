"""The model card of drawn-64."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from models.diffusion.drawn64.pipeline import GUIDANCE_SCALE
from training.base.attributes import CATEGORIES, COLOURS, PATTERNS

if TYPE_CHECKING:
    from training.base.base import BaseFigures, BasePlan

_CARD: Final = """---
license: apache-2.0
purpose: verification
pipeline_tag: text-to-image
---

# drawn-64

A text-to-image checkpoint of 64 x 64 pixels that this project made for itself: catalogue drawings of a garment, laid
flat or worn. **Purpose: verification.** With it LoRA training, serving and evaluation are proved offline; it pretends
to nothing more. A customer's request gets it only where the operator allows checkpoints for verification.

## What it is

- Autoencoder (`vae/`): 1.5 million parameters, 8 x 8 latents of 24 channels.
- Denoiser (`unet/`): diffusers' `UNet2DConditionModel`, 4.7 million parameters, v-prediction, cosine noise.
- Text: 16 frozen states of MiniLM (`all-MiniLM-L6-v2`, Apache-2.0); not in this folder, see `models/weights.toml`.
- Half precision, safetensors. `models.diffusion.drawn64.pipeline.load_drawn64()` loads it.

## How it was made

`spokesmodel train base --seed {seed}`, {num_pictures} pictures drawn by `training/base/drawings.py`: {ae_steps} steps
of the autoencoder, {steps} of the denoiser. One thread took {cpu:.0f} CPU-seconds:
{parts}.
Nothing else was trained on: no photo, no person, nothing from the web.

It draws

- {colours};
- {categories};
- {patterns};
- laid flat, or worn by a person.

## What it reached

Of 128 combinations of colour, category and pattern 26 were left out of training, flat and worn. An independent checker,
trained on drawings of its own, told what {num_checked} generated pictures show (20 steps, guidance {guidance}):

| | share |
| --- | --- |
| all attributes right, combinations left out | {left_out:.1%} |
| {attributes} |
| all attributes right, combinations seen | {seen:.1%} |
| left-out drawings right after the autoencoder alone (PSNR {psnr:.1f} dB) | {autoencoder:.1%} |

## Limits

64 pixels, soft edges with faint seams every 8, one kind of picture. More guidance makes colours too strong: pink turns
white from about 3.5 on. It knows the words above and some synonyms; other words it reads as the nearest of those.
Persons are schematic, and the five colours of skin and hair are random, not asked for. Use it for tests, never for a
brand's pictures.
"""


def write_card(file: Path, plan: BasePlan, figures: BaseFigures) -> None:
    """Write the card of a run."""
    attributes = " |\n| ".join(
        f"its {name} right, combinations left out | {share:.1%}" for name, share in figures.left_out_attributes.items()
    )
    text = _CARD.format(
        seed=plan.seed,
        guidance=GUIDANCE_SCALE,
        num_pictures=plan.num_pictures,
        ae_steps=plan.autoencoder_steps,
        steps=plan.denoiser_steps,
        cpu=sum(figures.cpu_s.values()),
        parts=", ".join(f"{part} {seconds:.0f}" for part, seconds in figures.cpu_s.items()),
        colours=", ".join(COLOURS),
        categories=", ".join(CATEGORIES),
        patterns=", ".join(PATTERNS),
        num_checked=figures.num_checked,
        left_out=figures.left_out_right,
        attributes=attributes,
        seen=figures.seen_right,
        psnr=figures.autoencoder_psnr_db,
        autoencoder=figures.autoencoder_right,
    )
    file.write_text(text, encoding="utf-8")
