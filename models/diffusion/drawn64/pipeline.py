"""drawn-64's pipeline: text to picture, picture to picture, inpainting, in diffusers' own form.

B pictures, C channels, H and W of the latents; T tokens, D numbers a state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DConditionModel
from diffusers.image_processor import VaeImageProcessor
from diffusers.loaders import StableDiffusionLoraLoaderMixin
from diffusers.pipelines.pipeline_utils import DiffusionPipeline, ImagePipelineOutput
from diffusers.utils.torch_utils import randn_tensor
from torch import Tensor

from models.diffusion.drawn64.autoencoder import FACTOR, DrawnAutoencoder
from models.diffusion.drawn64.text import WIDTH, load_text, random_text, text_states
from services.domain.errors import Unavailable

WEIGHTS: Final = Path(__file__).with_name("weights")
SIDE_PX: Final = 64
GUIDANCE_SCALE: Final = 2.5  # at 3.5 and above pink and white lose themselves in each other
_MULTIPLE: Final = 16  # pixels: 8 a latent, and the UNet halves the latents once


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A picture that generation begins from; ``kept_*`` are 1 where it stays, None where nothing has to."""

    pixels_BCHW: Tensor
    encoded_BCHW: Tensor
    noise_BCHW: Tensor
    kept_pixels_BCHW: Tensor | None
    kept_BCHW: Tensor | None

    def at(self, scheduler: Any, timestep: Tensor) -> Tensor:
        """Its latents as noisy as they are at the timestep (of one element; of none: without noise)."""
        if not len(timestep):
            return self.encoded_BCHW
        noisy_BCHW: Tensor = scheduler.add_noise(self.encoded_BCHW, self.noise_BCHW, timestep)
        return noisy_BCHW


class Drawn64Pipeline(DiffusionPipeline, StableDiffusionLoraLoaderMixin):
    """Pictures of 64 x 64 pixels (or other multiples of 16) from prompts."""

    model_cpu_offload_seq = "text_encoder->unet->vae"
    _callback_tensor_inputs = ("latents", "prompt_embeds")

    def __init__(self, vae: Any, text_encoder: Any, tokenizer: Any, unet: Any, scheduler: Any) -> None:
        super().__init__()
        self.register_modules(vae=vae, text_encoder=text_encoder, tokenizer=tokenizer, unet=unet, scheduler=scheduler)
        self.vae_scale_factor = FACTOR
        self.image_processor = VaeImageProcessor(vae_scale_factor=_MULTIPLE)
        self.mask_processor = VaeImageProcessor(
            vae_scale_factor=_MULTIPLE, do_normalize=False, do_binarize=True, do_convert_grayscale=True
        )

    def encode_prompt(self, prompts: Sequence[str]) -> Tensor:
        """States (B, 16, 384) of the prompts, what stands after their ends 0."""
        return text_states(self.tokenizer, self.text_encoder, prompts).to(self.unet.dtype)

    @torch.no_grad()
    def __call__(
        self,
        prompt: str | Sequence[str] | None = None,
        negative_prompt: str | Sequence[str] | None = None,
        image: Any = None,
        mask_image: Any = None,
        strength: float = 0.8,
        num_inference_steps: int = 20,
        guidance_scale: float = GUIDANCE_SCALE,
        height: int = SIDE_PX,
        width: int = SIDE_PX,
        generator: Any = None,
        output_type: str = "pil",
        return_dict: bool = True,
        callback_on_step_end: Callable[..., dict[str, Any]] | None = None,
        callback_on_step_end_tensor_inputs: Sequence[str] = ("latents",),
        prompt_embeds: Tensor | None = None,
        negative_prompt_embeds: Tensor | None = None,
        num_images_per_prompt: int = 1,
        latents: Tensor | None = None,
        cross_attention_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Pictures for the prompts, in ``.images``.

        Args:
            image: With it, pictures begin as this one (PIL, numpy or torch, as diffusers takes them).
            mask_image: White is made anew; what is black keeps the pixels of ``image``.
            strength: How much of ``image`` is forgotten: 0 nothing, 1 all. Without an image it means nothing.
            guidance_scale: 1 or less runs without the negative prompt, in half the time.
            output_type: ``pil``, ``np`` (0 to 1), ``pt`` or ``latent``.
            callback_on_step_end: ``(pipe, step, timestep, {"latents": ...}) -> dict`` after each step.
            prompt_embeds: States (B, T, 384) instead of prompts, any number of tokens.
            latents: Noise (B, 24, H, W) to start from, instead of the generator's.

        Raises:
            ValueError: No prompt, a size that is no multiple of 16, a mask without a picture, a strength below 0 or
                above 1.
        """
        if prompt is None and prompt_embeds is None:
            raise ValueError("a prompt or prompt_embeds must be given")
        if height % _MULTIPLE or width % _MULTIPLE:
            raise ValueError(f"height and width must be multiples of {_MULTIPLE}, not {height} x {width}")
        if mask_image is not None and image is None:
            raise ValueError("mask_image needs an image")
        if not 0 <= strength <= 1:
            raise ValueError(f"strength is from 0 to 1, not {strength}")
        guided = guidance_scale > 1
        states_BTD = self._states(prompt, negative_prompt, prompt_embeds, negative_prompt_embeds, guided)
        states_BTD = states_BTD.repeat_interleave(num_images_per_prompt, dim=0)
        num_pictures = len(states_BTD) // (2 if guided else 1)
        device, dtype = self._execution_device, self.unet.dtype

        self.scheduler.set_timesteps(num_inference_steps, device=device)
        timesteps = self.scheduler.timesteps
        shape = (num_pictures, self.unet.config.in_channels, height // FACTOR, width // FACTOR)
        noise_BCHW = latents if latents is not None else randn_tensor(shape, generator=generator, dtype=dtype)
        noise_BCHW = noise_BCHW.to(device, dtype)
        latents_BCHW = noise_BCHW * self.scheduler.init_noise_sigma
        known = None
        if image is not None:
            known = self._known(image, mask_image, noise_BCHW, height, width)
            timesteps = timesteps[len(timesteps) - round(num_inference_steps * strength) :]
            latents_BCHW = known.at(self.scheduler, timesteps[:1])

        with self.progress_bar(total=len(timesteps)) as progress:
            for step, timestep in enumerate(timesteps):
                both = torch.cat([latents_BCHW] * 2) if guided else latents_BCHW
                predicted = self.unet(
                    self.scheduler.scale_model_input(both, timestep),
                    timestep,
                    encoder_hidden_states=states_BTD,
                    cross_attention_kwargs=cross_attention_kwargs,
                ).sample
                if guided:
                    without, with_text = predicted.chunk(2)
                    predicted = without + guidance_scale * (with_text - without)
                latents_BCHW = self.scheduler.step(predicted, timestep, latents_BCHW).prev_sample.to(dtype)
                if known is not None and known.kept_BCHW is not None:
                    there = known.at(self.scheduler, timesteps[step + 1 : step + 2])
                    latents_BCHW = known.kept_BCHW * there + (1 - known.kept_BCHW) * latents_BCHW
                if callback_on_step_end is not None:
                    offered = {"latents": latents_BCHW, "prompt_embeds": states_BTD}
                    given = {name: offered[name] for name in callback_on_step_end_tensor_inputs}
                    latents_BCHW = (callback_on_step_end(self, step, timestep, given) or given).get(
                        "latents", latents_BCHW
                    )
                progress.update()
        images = latents_BCHW
        if output_type != "latent":
            images = self.image_processor.postprocess(self._decoded(latents_BCHW, known), output_type=output_type)
        self.maybe_free_model_hooks()
        return ImagePipelineOutput(images=images) if return_dict else (images,)

    def _states(
        self,
        prompt: str | Sequence[str] | None,
        negative_prompt: str | Sequence[str] | None,
        prompt_embeds: Tensor | None,
        negative_prompt_embeds: Tensor | None,
        guided: bool,
    ) -> Tensor:
        """States of the prompts; guided, those of the negative prompts stand before them."""
        if prompt_embeds is None:
            assert prompt is not None
            prompt_embeds = self.encode_prompt([prompt] if isinstance(prompt, str) else list(prompt))
        prompt_embeds = prompt_embeds.to(self._execution_device, self.unet.dtype)
        if not guided:
            return prompt_embeds
        if negative_prompt_embeds is None:
            given = negative_prompt or ""
            words = [given] * len(prompt_embeds) if isinstance(given, str) else list(given)
            negative_prompt_embeds = self.encode_prompt(words)
        negative_prompt_embeds = negative_prompt_embeds.to(prompt_embeds)
        if len(negative_prompt_embeds) != len(prompt_embeds):
            raise ValueError("as many negative prompts as prompts, or one, must be given")
        # Zeros stand where a prompt has ended: the shorter side is filled with more of them.
        longest = max(prompt_embeds.shape[1], negative_prompt_embeds.shape[1])
        sides = (negative_prompt_embeds, prompt_embeds)
        return torch.cat([torch.nn.functional.pad(one, (0, 0, 0, longest - one.shape[1])) for one in sides])

    def _matched(self, tensor: Tensor, num_pictures: int) -> Tensor:
        if num_pictures % len(tensor):
            raise ValueError(f"{len(tensor)} pictures do not go with {num_pictures} prompts")
        return tensor.repeat_interleave(num_pictures // len(tensor), dim=0)

    def _known(self, image: Any, mask_image: Any, noise_BCHW: Tensor, height: int, width: int) -> _Known:
        """What of the pictures is there already, before ``image`` is noised."""
        num_pictures = len(noise_BCHW)
        pixels_BCHW = self._matched(self.image_processor.preprocess(image, height, width), num_pictures)
        pixels_BCHW = pixels_BCHW.to(noise_BCHW.device, self.vae.dtype)
        encoded_BCHW = self.vae.encode(pixels_BCHW).latents.to(noise_BCHW)
        kept_pixels_BCHW = kept_BCHW = None
        if mask_image is not None:
            made_BCHW = self._matched(self.mask_processor.preprocess(mask_image, height, width), num_pictures)
            made_BCHW = made_BCHW.to(noise_BCHW)
            # A latent is kept only where all its pixels are: a seam then lies inside what is made anew.
            kept_pixels_BCHW, kept_BCHW = 1 - made_BCHW, 1 - torch.nn.functional.max_pool2d(made_BCHW, FACTOR)
        return _Known(
            pixels_BCHW=pixels_BCHW,
            encoded_BCHW=encoded_BCHW,
            noise_BCHW=noise_BCHW,
            kept_pixels_BCHW=kept_pixels_BCHW,
            kept_BCHW=kept_BCHW,
        )

    def _decoded(self, latents_BCHW: Tensor, known: _Known | None) -> Tensor:
        pixels_BCHW: Tensor = self.vae.decode(latents_BCHW.to(self.vae.dtype)).sample.float()
        if known is not None and known.kept_pixels_BCHW is not None:
            kept = known.kept_pixels_BCHW > 0.5  # binary
            pixels_BCHW = torch.where(kept, known.pixels_BCHW.float(), pixels_BCHW)
        return pixels_BCHW


def load_drawn64(device: str = "cpu", dtype: str = "float32", *, folder: Path = WEIGHTS) -> Drawn64Pipeline:
    """drawn-64 as it was trained.

    Args:
        dtype: What it calculates in, a name of torch's; the files are half precision.
        folder: What ``spokesmodel train base`` made, if not the weights that come with this package.

    Raises:
        Unavailable: ``weights_missing``: they are not there, or the text encoder has not been fetched.
    """
    kind = getattr(torch, dtype)
    if not (folder / "model_index.json").is_file():
        raise Unavailable(f"There are no weights of drawn-64 in {folder}.", code="weights_missing", retryable=False)
    tokenizer, text_encoder = load_text(kind)
    local = {"use_safetensors": True, "local_files_only": True, "low_cpu_mem_usage": False}
    pipe = Drawn64Pipeline(
        vae=DrawnAutoencoder.from_pretrained(folder / "vae", torch_dtype=kind, **local).eval(),
        text_encoder=text_encoder,
        tokenizer=tokenizer,
        unet=UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=kind, **local).eval(),
        scheduler=DDIMScheduler.from_pretrained(folder / "scheduler", local_files_only=True),
    )
    pipe.set_progress_bar_config(disable=True)
    pipe.to(device)
    return pipe


def random_drawn64(seed: int, *, tiny: bool = True) -> Drawn64Pipeline:
    """The same architecture with random weights, for tests; needs no files.

    Args:
        tiny: Narrower networks of the same layers, a few times as fast.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        tokenizer, text_encoder = random_text()
        vae = DrawnAutoencoder(block_out_channels=(8, 12, 16)) if tiny else DrawnAutoencoder()
        for network in (vae.encoder[-1], vae.decoder[-2]):
            torch.nn.init.normal_(network.weight, std=0.05)
        unet = new_unet(block_out_channels=(16, 32)) if tiny else new_unet()
    pipe = Drawn64Pipeline(
        vae=vae.eval(),
        text_encoder=text_encoder,
        tokenizer=tokenizer,
        unet=unet.eval(),
        scheduler=new_scheduler(),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def new_unet(block_out_channels: tuple[int, int] = (64, 128)) -> UNet2DConditionModel:
    """The denoiser before training: two levels, each with attention to the text; 4.7 million parameters."""
    return UNet2DConditionModel(
        sample_size=SIDE_PX // FACTOR,
        in_channels=24,
        out_channels=24,
        down_block_types=("CrossAttnDownBlock2D",) * 2,
        up_block_types=("CrossAttnUpBlock2D",) * 2,
        block_out_channels=block_out_channels,
        layers_per_block=1,
        cross_attention_dim=WIDTH,
        attention_head_dim=4,
        norm_num_groups=min(16, int(np.gcd.reduce(block_out_channels))),
    )


def new_scheduler() -> DDIMScheduler:
    """Cosine noise up to none of the picture left, v-prediction; sampling starts at that last step."""
    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_schedule="squaredcos_cap_v2",
        prediction_type="v_prediction",
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
    )
