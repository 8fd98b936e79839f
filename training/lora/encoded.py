"""A dataset's pictures and captions as a base sees them, each encoded once, by what it is and not by when.

B pictures, C channels, H and W of latents. A picture's latents are sampled with a seed of its own and encoded by
themselves, so they are the same whatever batch they are first met in.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from training.bases import TextStates, TrainableBase
from training.data.cache import latents_key, text_key
from training.data.prepared import PreparedDataset
from training.lora.losses import mask_weights

_MEMORY_BYTES: Final = 4 * 2**30
_PROBED: Final = 64  # numbers of each tensor that tell one set of weights from another


class TensorStore(Protocol):
    """Where encoded tensors stay for the next run: ``training.data.cache.TensorCache``, or whatever is like it."""

    def get(self, key: str) -> Mapping[str, Tensor] | None: ...

    def put(self, key: str, tensors: Mapping[str, Tensor]) -> None: ...


class EncodedPictures:
    """Latents, text states, sizes and masks of a dataset, by index, on the base's device when they are asked for.

    Args:
        seed: Of what is sampled from the VAE's distribution.
        store: Keeps what was encoded beyond this run; None keeps it in memory.
        outside_mask: Weight of what a mask leaves out.
    """

    def __init__(
        self,
        dataset: PreparedDataset,
        base: TrainableBase,
        *,
        seed: int,
        store: TensorStore | None = None,
        outside_mask: float = 1.0,
    ) -> None:
        self.dataset = dataset
        self._base, self._seed, self._store, self._outside = base, seed, store, outside_mask
        self._kept: OrderedDict[str, dict[str, Tensor]] = OrderedDict()
        self._kept_bytes = 0
        parts = {name: one for name, one in base.pipeline().components.items() if isinstance(one, nn.Module)}
        self._vae = fingerprint([parts["vae"]])
        self._text = fingerprint([one for name, one in sorted(parts.items()) if name.startswith("text_encoder")])
        self._caption_keys: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.dataset)

    def warm(self, check_canceled: Callable[[], None]) -> None:
        """Encode all that is not yet, as far as memory or store hold it."""
        self.text_of([""])
        for index in range(len(self)):
            check_canceled()
            self._latents(index)
            self._states(self.dataset.caption(index))
            if self._store is None and self._kept_bytes > _MEMORY_BYTES * 0.9:
                return

    def latents(self, indices: Sequence[int]) -> Tensor:
        """(B, C, H, W), float32."""
        return torch.cat([self._latents(index) for index in indices]).to(self._base.device, non_blocking=True)

    def text(self, indices: Sequence[int], dropped: Sequence[bool] | None = None) -> TextStates:
        """States of the captions; of the empty one where ``dropped``."""
        captions = [self.dataset.caption(index) for index in indices]
        if dropped is not None:
            captions = ["" if gone else caption for caption, gone in zip(captions, dropped, strict=True)]
        return self.text_of(captions)

    def text_of(self, captions: Sequence[str]) -> TextStates:
        return TextStates.join([self._states(caption) for caption in captions]).to(self._base.device)

    def sizes(self, indices: Sequence[int]) -> Tensor:
        """(B, 6): original height, width; crop's top, left; height and width of what is trained; in pixels."""
        rows = []
        for index in indices:
            sample = self.dataset.samples[index]
            (width, height), (left, top, shown, _) = sample.original_size, sample.crop
            # SDXL's crop is told in pixels of the picture as it was scaled for training.
            scale = sample.bucket[0] / shown if shown else 1.0
            rows.append([height, width, round(top * scale), round(left * scale), sample.bucket[1], sample.bucket[0]])
        return torch.tensor(rows, dtype=torch.float32, device=self._base.device)

    def masks(self, indices: Sequence[int], size: tuple[int, int]) -> Tensor | None:
        """(B, 1, H, W), weights of latents; None when no picture of them has a mask."""
        if all(self.dataset.samples[index].mask is None for index in indices):
            return None
        weights = []
        for index in indices:
            pixels = self.dataset.mask(index)
            mask = torch.ones(1, 1, *size) if pixels is None else torch.from_numpy(pixels / 255.0)[None, None].float()
            weights.append(mask_weights(mask, size, outside=self._outside))
        return torch.cat(weights).to(self._base.device)

    def _latents(self, index: int) -> Tensor:
        sample = self.dataset.samples[index]

        def encode() -> dict[str, Tensor]:
            pixels_BCHW = as_pixels([self.dataset.picture(index)])
            generator = torch.Generator().manual_seed(seed_of(self._seed, "latents", sample.id))
            latents_BCHW = self._base.encode_pictures(pixels_BCHW, generator=generator)
            # As a file would give them back: convolutions round otherwise for another order of the same numbers.
            return {"latents": latents_BCHW.cpu().contiguous()}

        return self._found(latents_key(self._base.name, f"{self._vae}/{self._seed}", sample), encode)["latents"]

    def _states(self, caption: str) -> TextStates:
        def encode() -> dict[str, Tensor]:
            states = self._base.encode_captions([caption])
            return {name: value.detach().cpu().contiguous() for name, value in states.tensors.items()}

        if caption not in self._caption_keys:
            self._caption_keys[caption] = text_key(self._base.name, self._text, caption)
        return TextStates(self._found(self._caption_keys[caption], encode))

    def _found(self, key: str, encode: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        stored = self._store.get(key) if self._store is not None else None
        tensors = dict(stored) if stored is not None else encode()
        if stored is None and self._store is not None:
            self._store.put(key, tensors)
        self._kept[key] = tensors
        self._kept_bytes += _size(tensors)
        while self._kept_bytes > _MEMORY_BYTES and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= _size(gone)
        return tensors


def as_pixels(pictures: Sequence[np.ndarray[Any, np.dtype[np.uint8]]]) -> Tensor:
    """uint8 pictures (h, w, 3) of one size as float32 (B, 3, h, w) from -1 to 1."""
    stacked = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
    return stacked.float() / 127.5 - 1


def seed_of(*parts: object) -> int:
    """A seed that depends on these parts alone."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:8], "big") >> 1


def fingerprint(networks: Sequence[nn.Module]) -> str:
    """What tells these weights from others: names, shapes and some numbers of each tensor; hex."""
    digest = hashlib.sha256()
    for network in networks:
        for name, tensor in network.state_dict().items():
            flat = tensor.detach().flatten()
            some = flat[:: max(1, flat.numel() // _PROBED)].float().cpu().numpy()
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode() + some.tobytes())
    return digest.hexdigest()


def _size(tensors: Mapping[str, Tensor]) -> int:
    return sum(one.numel() * one.element_size() for one in tensors.values())
