"""Settings of a LoRA run, nested where they belong. Presets make them; a TOML file changes single values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from training.bases import Preset

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraTraining:
    """A run.

    Attributes:
        preset: Which of the base's layers are trained when ``network.targets`` names none.
        accumulation_steps: Batches whose gradients make one step.
        precision: What the networks calculate in (autocast); trained weights and optimiser stay float32.
        ema_decay: How much of the weights' running mean stays at each step; 0 keeps none. The mean is what is
            validated, sampled and saved.
        result: Which checkpoint becomes the LoRA: the one of the lowest validation loss, or the last. Without held-out
            pictures, the last.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Block:
        """Layers with a rank of their own; the first block that matches a layer counts.

        Attributes:
            modules: A pattern of module names, as of files: ``down_blocks.*``, ``*.attn2.*``.
            rank: 0 leaves these layers as they are.
            alpha: None keeps the network's ratio of alpha to rank.
        """

        modules: str
        rank: Count
        alpha: Annotated[float, Field(gt=0)] | None = None

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Network:
        """What is put into the denoiser.

        Attributes:
            kind: ``lora`` trains linear layers and 1 x 1 convolutions, ``locon`` all convolutions among the targets as
                well, ``lokr`` Kronecker products in place of low-rank ones.
            alpha: What multiplies the factors' product is alpha / rank; None takes the rank.
            dora: Direction and magnitude apart (Liu et al. 2024).
            targets: Ends of module names; empty takes the base's own for the preset.
        """

        kind: Literal["lora", "locon", "lokr"] = "lora"
        rank: Positive = 16
        alpha: Annotated[float, Field(gt=0)] | None = None
        dora: bool = False
        dropout: Annotated[float, Field(ge=0, le=0.9)] = 0.0
        targets: tuple[str, ...] = ()
        blocks: tuple[LoraTraining.Block, ...] = ()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Optimizer:
        """How the weights move.

        Attributes:
            name: ``adamw8bit`` needs bitsandbytes, ``prodigy`` prodigyopt (its learning rate is a factor, best 1).
            up_factor: How much faster ``up`` learns than ``down`` (LoRA+, Hayou et al. 2024); 1 is plain LoRA.
        """

        name: Literal["adamw", "adamw8bit", "prodigy"] = "adamw"
        learning_rate: Annotated[float, Field(gt=0)] = 1e-4
        up_factor: Annotated[float, Field(gt=0)] = 1.0
        weight_decay: Annotated[float, Field(ge=0)] = 0.01
        beta1: Annotated[float, Field(ge=0, le=1)] = 0.9
        beta2: Annotated[float, Field(ge=0, le=1)] = 0.999
        max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
        schedule: Literal["constant", "cosine", "linear"] = "constant"
        num_warmup_steps: Count = 0

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Loss:
        """What is minimised.

        Attributes:
            min_snr_gamma: Bounds the weight of easy timesteps (Hang et al. 2023); None weighs all alike. Flow matching
                has no such weight.
            noise_offset: Adds noise that is the same all over a picture, so that dark and light are learnt.
            caption_dropout: Share of pictures that are trained without their caption.
            prior_weight: Weight of the class pictures' loss where the run is given some (DreamBooth).
            outside_mask: Weight of what lies outside a picture's mask, where it has one.
        """

        min_snr_gamma: Annotated[float, Field(gt=0)] | None = None
        noise_offset: Annotated[float, Field(ge=0, le=1)] = 0.0
        caption_dropout: Share = 0.0
        prior_weight: Annotated[float, Field(ge=0)] = 1.0
        outside_mask: Share = 0.1

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Validation:
        """The loss on pictures held out, at the same noise and timesteps each time.

        Attributes:
            share: Of the pictures, whole near-duplicate clusters; 0 holds out none.
            every_steps: 0 validates before the first step and at the end only.
        """

        share: Annotated[float, Field(ge=0, le=0.5)] = 0.1
        max_pictures: Positive = 32
        num_timesteps: Positive = 4
        every_steps: Count = 100

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Samples:
        """Pictures of fixed prompts and seeds, a grid each time.

        Attributes:
            prompts: A row each; none makes no grids.
            seeds: A column each.
            every_steps: 0 makes one at the end only.
            side_px: 0 takes the base's own.
        """

        prompts: tuple[str, ...] = ()
        seeds: tuple[int, ...] = (0, 1)
        every_steps: Count = 250
        num_inference_steps: Positive = 20
        guidance_scale: Annotated[float, Field(ge=0)] = 5.0
        side_px: Count = 0

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Checkpoints:
        """What a run that is cut off goes on from; ``keep_last`` of them stay, and the best."""

        every_steps: Positive = 100
        keep_last: Positive = 2

    preset: Preset = "style"
    seed: int = 0
    num_steps: Positive = 1000
    batch_size: Positive = 4
    accumulation_steps: Positive = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False
    ema_decay: Annotated[float, Field(ge=0, le=0.99999)] = 0.0
    result: Literal["best", "last"] = "best"
    network: LoraTraining.Network = field(default_factory=Network)
    optimizer: LoraTraining.Optimizer = field(default_factory=Optimizer)
    loss: LoraTraining.Loss = field(default_factory=Loss)
    validation: LoraTraining.Validation = field(default_factory=Validation)
    samples: LoraTraining.Samples = field(default_factory=Samples)
    checkpoints: LoraTraining.Checkpoints = field(default_factory=Checkpoints)
