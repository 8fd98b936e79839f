"""Lights a person and product anew with an IC-Light file, together with LoRAs and repainting, in one generation.

IC-Light (Zhang, Rao and Agrawala, ICLR 2025; code github.com/lllyasviel/IC-Light, Apache-2.0) is a set of offsets to
SD1.5's UNet whose first convolution takes the latents of the lit-anew picture and, beside them, those of the
foreground on grey (8 channels), or of the foreground and a background (12). A network repaints what it lights, so of
protected pixels only the light is taken: their own detail stays, scaled by how much brighter each place has become.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.diffusion.pipelines import Generator, Picture, size_for
from models.diffusion.refine import ip_adapter_image
from services.domain.errors import Unavailable

Matte = NDArray[np.float32]

_LATENT_CHANNELS: Final = 4
_GREY: Final = 127
_GAIN_LIMITS: Final = (0.45, 2.2)
_LIGHT_SCALE: Final = 0.03  # of the long side: light changes slower than this, detail faster


def relight(
    picture_rgb: Picture,
    *,
    subject: Matte,
    light_rgb: Picture,
    repaint: Matte,
    generator: Generator,
    seed: int,
    check_canceled: Callable[[], None],
    prompt: str | None = None,
    strength: float = 0.85,
    amount: float = 1.0,
) -> Picture:
    """The picture in new light, uint8 (height, width, 3); where ``subject`` is 0 it stays as it is.

    Args:
        subject: float32 (height, width): person and product, 0 to 1.
        light_rgb: A picture of the light, of the same size: a gradient that is bright where light comes from, or the
            scene. The generation starts from it; a 12-channel file is shown it as the background too.
        repaint: Where what the network paints is taken whole (seams, new skin, retouched areas), 0 to 1.
        generator: An image-to-image pipeline of an SD1.5 checkpoint with ``relight``.
        strength: How freely the network departs from ``light_rgb``, 0 to 1.
        amount: How much of the new light is taken, 0 to 1.

    Raises:
        Unavailable: ``checkpoint_not_usable``: no IC-Light file, or one of another form.
        EngineFailed: ``image_not_finite``.
    """
    import cv2
    from PIL import Image

    height, width = picture_rgb.shape[:2]
    checkpoint = generator.checkpoint
    size = size_for(checkpoint.family, width, height)

    def small(values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(
            cv2.resize(values, size, interpolation=cv2.INTER_AREA if size[0] < width else cv2.INTER_CUBIC)
        )

    matte = np.clip(small(subject), 0, 1)[..., None]
    light = small(light_rgb)
    foreground = np.rint(small(picture_rgb) * matte + _GREY * (1 - matte)).astype(np.uint8)
    with conditioned(generator, foreground, light):
        made = generator.run(
            {
                "prompt": prompt or checkpoint.prompt,
                "negative_prompt": checkpoint.negative_prompt,
                "image": Image.fromarray(light),
                "strength": strength,
                "num_inference_steps": checkpoint.num_inference_steps,
                "guidance_scale": checkpoint.guidance_scale,
                "ip_adapter_image": ip_adapter_image(generator, None),
            },
            seed=seed,
            check_canceled=check_canceled,
        )
    made = np.asarray(cv2.resize(made, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
    lit = lit_as(picture_rgb, made, amount)
    whole = np.clip(repaint, 0, 1)[..., None]
    mixed = lit * (1 - whole) + made.astype(np.float32) * whole
    mixed = picture_rgb + np.clip(subject, 0, 1)[..., None] * (mixed - picture_rgb)
    return np.asarray(np.clip(np.rint(mixed), 0, 255), np.uint8)


def lit_as(picture_rgb: Picture, made_rgb: Picture, amount: float) -> Matte:
    """``picture_rgb`` with the slow light of ``made_rgb`` and its own detail: float32 (h, w, 3), 0 to 255."""
    import cv2

    sigma = max(1.0, _LIGHT_SCALE * max(picture_rgb.shape))
    before, after = (cv2.GaussianBlur(one.astype(np.float32), (0, 0), sigma) + 8.0 for one in (picture_rgb, made_rgb))
    gain = np.clip(after / before, *_GAIN_LIMITS) ** amount
    return np.asarray(np.clip(picture_rgb * gain, 0, 255), np.float32)


@contextmanager
def conditioned(generator: Generator, foreground_rgb: Picture, background_rgb: Picture) -> Iterator[None]:
    """The generator's UNet as IC-Light's for these pictures; afterwards it is to the bit what it was.

    Raises:
        Unavailable: ``checkpoint_not_usable``.
    """
    import torch

    unet = generator.pipe.unet
    offsets = _offsets_of(generator)
    num_channels = offsets["conv_in.weight"].shape[1]
    pictures = [foreground_rgb, background_rgb][: num_channels // _LATENT_CHANNELS - 1]
    extra_BCHW = torch.cat([_latents_of(generator, one) for one in pictures], dim=1)  # noqa: N806
    narrow, kept = unet.conv_in, {}

    def show(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sample_BCHW = args[0] if args else kwargs.pop("sample")  # noqa: N806
        beside = extra_BCHW.to(sample_BCHW).repeat(sample_BCHW.shape[0], 1, 1, 1)
        return (torch.cat([sample_BCHW, beside], dim=1), *args[1:]), kwargs

    wide = torch.nn.Conv2d(num_channels, narrow.out_channels, narrow.kernel_size, narrow.stride, narrow.padding).to(
        narrow.weight
    )
    hook = None
    parameters = {_plain(name): value for name, value in unet.named_parameters()}
    try:
        with torch.no_grad():
            wide.weight.zero_()
            wide.weight[:, :_LATENT_CHANNELS] = narrow.weight
            wide.weight += offsets["conv_in.weight"].to(wide.weight)
            wide.bias.copy_(narrow.bias + offsets["conv_in.bias"].to(narrow.bias))
            for name, offset in offsets.items():
                if not name.startswith("conv_in."):
                    kept[name] = parameters[name].detach().clone()
                    parameters[name] += offset.to(parameters[name])
        unet.conv_in = wide
        hook = unet.register_forward_pre_hook(show, with_kwargs=True)
        yield
    finally:
        if hook is not None:
            hook.remove()
        unet.conv_in = narrow
        with torch.no_grad():
            for name, value in kept.items():
                parameters[name].copy_(value)


def _offsets_of(generator: Generator) -> dict[str, Any]:
    """The file's tensors by the names of the UNet's parameters."""
    from safetensors.torch import load_file

    checkpoint = generator.checkpoint
    if checkpoint.relight is None:
        raise _unusable(checkpoint.name, "it names no relight file")
    offsets: dict[str, Any] = load_file(checkpoint.file(checkpoint.relight))
    shapes = {_plain(name): tuple(value.shape) for name, value in generator.pipe.unet.named_parameters()}
    first = offsets.get("conv_in.weight")
    if first is None or first.shape[1] not in (2 * _LATENT_CHANNELS, 3 * _LATENT_CHANNELS):
        raise _unusable(checkpoint.name, "its relight file has no conv_in of 8 or 12 channels")
    wrong = [
        name for name, value in offsets.items() if name != "conv_in.weight" and tuple(value.shape) != shapes.get(name)
    ]
    if wrong:
        raise _unusable(checkpoint.name, f"{wrong[0]} of its relight file is not a parameter of this UNet")
    return offsets


def _plain(name: str) -> str:
    """A parameter's name without what an injected LoRA puts between."""
    return name.replace(".base_layer.", ".")


def _latents_of(generator: Generator, picture_rgb: Picture) -> Any:
    """The VAE's mean latents of a picture, (1, 4, H, W), scaled as the UNet sees them."""
    import torch

    vae = generator.pipe.vae
    values = torch.from_numpy(picture_rgb.astype(np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
    with torch.inference_mode():
        latents = vae.encode(values.to(vae.device, vae.dtype)).latent_dist.mode() * vae.config.scaling_factor
    return latents.clone()


def _unusable(name: str, why: str) -> Unavailable:
    return Unavailable(f"The checkpoint {name} cannot relight: {why}.", code="checkpoint_not_usable", retryable=False)
