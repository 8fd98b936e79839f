"""Prompts of any length as the states that a denoiser attends to, words by their weights.

Chunks of 75 tokens (what CLIP takes between its two marks) are encoded each by itself and laid end to end; a token's
states are multiplied by its weight and the whole brought back to the mean it had, as A1111's WebUI does by default.
N chunks, T tokens of one, D numbers a state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from models.diffusion.checkpoints import Family
from models.diffusion.prompts import Prompt

if TYPE_CHECKING:
    from torch import Tensor

_BACKTRACK: Final = 20  # tokens: no sentence part shorter than this is cut in two, A1111's default
_MAX_CHUNKS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Tokens without marks, each with its weight."""

    ids: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptStates:
    """What a pipeline is called with for its prompts.

    Attributes:
        arguments: ``prompt_embeds`` and what belongs to them, or ``prompt`` for families whose encoders take none.
        facts: ``prompt_chunks`` and ``prompt_weights``: ``none`` were given, ``applied`` or ``not_applied``;
            ``prompt_tokens_dropped`` where an encoder's window is too short.
    """

    arguments: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)


def prompt_states(pipe: Any, family: Family, prompt: Prompt, negative: Prompt) -> PromptStates:
    """The prompts for this pipeline.

    FLUX and SD3 read prompts with T5, which no weighting of states was made for: their words are passed on without
    weights, and the facts say so.
    """
    weighted = prompt.is_weighted or negative.is_weighted
    if family in (Family.FLUX, Family.SD3):
        facts: dict[str, Any] = {"prompt_chunks": 1, "prompt_weights": "not_applied" if weighted else "none"}
        if dropped := _num_dropped(pipe, family, prompt.text):
            facts["prompt_tokens_dropped"] = dropped
        arguments: dict[str, Any] = {"prompt": prompt.text}
        if family is Family.SD3:
            arguments["negative_prompt"] = negative.text
        elif negative.text:  # FLUX' guidance is distilled: there is no second pass for a negative prompt
            facts["negative_prompt"] = "not_applied"
        return PromptStates(arguments=arguments, facts=facts)
    import torch

    with torch.no_grad():
        if family is Family.SDXL:
            arguments, num_chunks = _sdxl(pipe, prompt, negative)
        else:
            encoder = _Bert(pipe) if family is Family.DRAWN64 else _Clip(pipe, "tokenizer", "text_encoder")
            ours, theirs = _of_one_length([encoder.chunks(prompt), encoder.chunks(negative)])
            num_chunks = len(ours)
            arguments = {
                "prompt_embeds": encoder.states(ours)[0],
                "negative_prompt_embeds": encoder.states(theirs)[0],
            }
    return PromptStates(
        arguments=arguments,
        facts={"prompt_chunks": num_chunks, "prompt_weights": "applied" if weighted else "none"},
    )


def chunked(sections: Sequence[Chunk], *, room: int, comma: int | None) -> list[Chunk]:
    """Chunks of at most ``room`` tokens, a new one for each section; at least one.

    Where a chunk is full its last part since a comma goes on to the next, when it is short.
    """
    found: list[Chunk] = []
    for section in sections:
        tokens = list(zip(section.ids, section.weights, strict=True))
        while True:
            end = min(room, len(tokens))
            if len(tokens) > room:
                last = max((at for at in range(room) if tokens[at][0] == comma), default=-1)
                if last >= 0 and room - (last + 1) <= _BACKTRACK and tokens[room][0] != comma:
                    end = last + 1
            part, tokens = tokens[:end], tokens[end:]
            found.append(Chunk(ids=tuple(token for token, _ in part), weights=tuple(weight for _, weight in part)))
            if not tokens:
                break
    return found or [Chunk()]


def weighted_states(states_NTD: Tensor, weights_NT: Tensor) -> Tensor:  # noqa: N803  shapes in names
    """States by their tokens' weights, at the mean that they had before."""
    if bool((weights_NT == 1).all()):
        return states_NTD
    mean = states_NTD.float().mean()
    weighted_NTD = states_NTD * weights_NT[..., None].to(states_NTD)  # noqa: N806
    ratio = mean / weighted_NTD.float().mean()
    return weighted_NTD * ratio.to(states_NTD) if bool(ratio.isfinite()) else weighted_NTD


class _Encoder:
    """A tokenizer and its text encoder."""

    def __init__(self, tokenizer: Any, model: Any, *, room: int) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._room = room
        comma = self._ids(",")
        self._comma = comma[-1] if comma else None

    def chunks(self, prompt: Prompt) -> list[Chunk]:
        sections = []
        for section in prompt.sections:
            ids: list[int] = []
            weights: list[float] = []
            for text, weight in section:
                found = self._ids(text)
                ids += found
                weights += [weight] * len(found)
            sections.append(Chunk(ids=tuple(ids), weights=tuple(weights)))
        chunks = chunked(sections, room=self._room, comma=self._comma)
        if len(chunks) > _MAX_CHUNKS:
            from services.domain.errors import InvalidRequest

            raise InvalidRequest(
                f"The prompt has {len(chunks)} chunks of {self._room} tokens; at most {_MAX_CHUNKS} are read.",
                code="prompt_too_long",
                param="prompt",
            )
        return chunks

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    def _tensors(self, chunks: Sequence[Chunk], first: int, last: int, padding: int) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens (N, T) with their marks, weights (N, T), and 1 where a chunk has tokens or marks."""
        import torch

        length = self._room + 2
        ids_NT = torch.full((len(chunks), length), padding)  # noqa: N806
        weights_NT = torch.ones((len(chunks), length))  # noqa: N806
        there_NT = torch.zeros((len(chunks), length), dtype=torch.long)  # noqa: N806
        for row, chunk in enumerate(chunks):
            end = len(chunk.ids) + 2
            ids_NT[row, :end] = torch.tensor([first, *chunk.ids, last])
            weights_NT[row, 1 : end - 1] = torch.tensor(chunk.weights)
            there_NT[row, :end] = 1
        device = self._model.device
        return ids_NT.to(device), weights_NT.to(device), there_NT.to(device)


class _Clip(_Encoder):
    """CLIP: of SD1.5 its last states, of SDXL those before the last layer."""

    def __init__(self, pipe: Any, tokenizer: str, model: str, *, before_last: bool = False) -> None:
        found = getattr(pipe, tokenizer)
        super().__init__(found, getattr(pipe, model), room=found.model_max_length - 2)
        self._before_last = before_last

    def states(self, chunks: Sequence[Chunk]) -> tuple[Tensor, Tensor]:
        """States (1, N*T, D), and the first chunk's output as a whole (1, D), where there is one."""
        tokenizer = self._tokenizer
        ids_NT, weights_NT, _ = self._tensors(  # noqa: N806
            chunks, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
        )
        made = self._model(ids_NT, output_hidden_states=self._before_last)
        states_NTD = made.hidden_states[-2] if self._before_last else made[0]  # noqa: N806
        states_NTD = weighted_states(states_NTD, weights_NT)  # noqa: N806
        return states_NTD.reshape(1, -1, states_NTD.shape[-1]), made[0][:1]


class _Bert(_Encoder):
    """drawn-64's: what stands after a chunk's end is 0, so nothing has to be brought back to a mean."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe.tokenizer, pipe.text_encoder, room=pipe.tokenizer.model_max_length - 2)
        self._dtype = pipe.unet.dtype

    def states(self, chunks: Sequence[Chunk]) -> tuple[Tensor, None]:
        tokenizer = self._tokenizer
        ids_NT, weights_NT, there_NT = self._tensors(  # noqa: N806
            chunks, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
        )
        states_NTD = self._model(input_ids=ids_NT, attention_mask=there_NT).last_hidden_state  # noqa: N806
        states_NTD = states_NTD * (there_NT * weights_NT)[..., None].to(states_NTD)  # noqa: N806
        return states_NTD.reshape(1, -1, states_NTD.shape[-1]).to(self._dtype), None


def _sdxl(pipe: Any, prompt: Prompt, negative: Prompt) -> tuple[dict[str, Tensor], int]:
    import torch

    encoders = [
        _Clip(pipe, tokenizer, model, before_last=True)
        for tokenizer, model in (("tokenizer", "text_encoder"), ("tokenizer_2", "text_encoder_2"))
        if getattr(pipe, model, None) is not None
    ]
    # The encoders share a vocabulary but for padding; both sides and both encoders must come out equally long.
    lists = _of_one_length([encoder.chunks(one) for one in (prompt, negative) for encoder in encoders])
    ours, theirs = lists[: len(encoders)], lists[len(encoders) :]
    states = [encoder.states(chunks) for encoder, chunks in zip(encoders, ours, strict=True)]
    embeds, pooled = torch.cat([one for one, _ in states], dim=-1), states[-1][1]
    if not negative.text and pipe.config.get("force_zeros_for_empty_prompt"):
        negative_embeds, negative_pooled = torch.zeros_like(embeds), torch.zeros_like(pooled)
    else:
        states = [encoder.states(chunks) for encoder, chunks in zip(encoders, theirs, strict=True)]
        negative_embeds, negative_pooled = torch.cat([one for one, _ in states], dim=-1), states[-1][1]
    arguments = {
        "prompt_embeds": embeds,
        "pooled_prompt_embeds": pooled,
        "negative_prompt_embeds": negative_embeds,
        "negative_pooled_prompt_embeds": negative_pooled,
    }
    return arguments, len(lists[0])


def _of_one_length(lists: Sequence[list[Chunk]]) -> list[list[Chunk]]:
    """The lists with empty chunks after the shorter ones."""
    longest = max(len(one) for one in lists)
    return [[*one, *[Chunk()] * (longest - len(one))] for one in lists]


def _num_dropped(pipe: Any, family: Family, text: str) -> int:
    """How many of T5's tokens are beyond its window."""
    tokenizer = pipe.tokenizer_2 if family is Family.FLUX else getattr(pipe, "tokenizer_3", None)
    if tokenizer is None:
        return 0
    window = 512 if family is Family.FLUX else 256  # the pipelines' own defaults
    return max(0, len(tokenizer(text, verbose=False).input_ids) - window)
