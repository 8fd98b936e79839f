"""A1111's prompt syntax, by the examples of its own documentation, and what becomes of it in the encoders."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from models.diffusion.checkpoints import Checkpoint, Family
from models.diffusion.prompt_states import Chunk, chunked, prompt_states, weighted_states
from models.diffusion.prompts import LoraTag, Prompt, parse_prompt
from services.domain.errors import InvalidRequest
from tests.models.diffusion.lora_cases import pipeline

# Examples of the WebUI's documentation: the docstring of parse_prompt_attention (modules/prompt_parser.py), "Features".
EXAMPLES = [
    ("normal text", [("normal text", 1.0)]),
    ("an (important) word", [("an ", 1.0), ("important", 1.1), (" word", 1.0)]),
    ("(unbalanced", [("unbalanced", 1.1)]),
    (r"\(literal\]", [("(literal]", 1.0)]),
    ("(unnecessary)(parens)", [("unnecessaryparens", 1.1)]),
    (
        "a (((house:1.3)) [on] a (hill:0.5), sun, (((sky))).",
        [
            ("a ", 1.0), ("house", 1.573), (" ", 1.1), ("on", 1.0), (" a ", 1.1), ("hill", 0.55), (", sun, ", 1.1),
            ("sky", 1.4641), (".", 1.1),
        ],
    ),
    ("a ((word))", [("a ", 1.0), ("word", 1.21)]),
    ("a [word]", [("a ", 1.0), ("word", 1 / 1.1)]),
    ("a (word:1.5)", [("a ", 1.0), ("word", 1.5)]),
    ("a (word:0.25)", [("a ", 1.0), ("word", 0.25)]),
    (r"a \(word\)", [("a (word)", 1.0)]),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "runs"), EXAMPLES)
def test_attention_is_read_as_the_webuis_documentation_has_it(prompt: str, runs: list[tuple[str, float]]) -> None:
    (section,) = parse_prompt(prompt).sections
    assert [text for text, _ in section] == [text for text, _ in runs]
    assert [weight for _, weight in section] == pytest.approx([weight for _, weight in runs])


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("at 10:30) and after", "at 10:30) and after"),
        ("ratio 3:4", "ratio 3:4"),
        ("a (b:c) d", "a b:c d"),
        (r"C:\dir", r"C:\dir"),
        ("smile :) and ;]", "smile :) and ;]"),
        ("", ""),
    ],
)
def test_what_is_no_attention_stays_in_the_text(prompt: str, text: str) -> None:
    assert parse_prompt(prompt).text == text


def test_break_begins_a_new_section_also_within_brackets() -> None:
    found = parse_prompt("a cat BREAK (a dog\nBREAK\na BREAKFAST:1.2) here")
    assert [[text for text, _ in section] for section in found.sections] == [
        ["a cat"],
        ["a dog"],
        ["a BREAKFAST", " here"],
    ]
    assert [weight for section in found.sections for _, weight in section] == pytest.approx([1, 1.2, 1.2, 1])


def test_loras_are_taken_out_of_the_text() -> None:
    found = parse_prompt(
        "ink <lora:ink-style:0.8> portrait<lora:face@2>, <lora:both:0.3:0.6> (red <lora:minus:-1>:1.2)"
    )
    assert found.loras == (
        LoraTag(name="ink-style", scale=0.8),
        LoraTag(name="face@2"),
        LoraTag(name="both", text_scale=0.3, scale=0.6),
        LoraTag(name="minus", scale=-1.0),
    )
    assert "lora" not in found.text
    assert found.text == "ink portrait, red"


@pytest.mark.parametrize(
    ("prompt", "fault"),
    [
        ("<lora:style:high>", "'high' is no number"),
        ("<lora::0.8>", "no name"),
        ("<lora:a:1:1:1>", "more than two"),
        ("<hypernet:old:1>", "hypernet"),
        ("a [cat:dog:0.5]", "prompt editing"),
        ("a [cat|dog]", "prompt editing"),
    ],
)
def test_what_would_be_misread_is_refused(prompt: str, fault: str) -> None:
    with pytest.raises(InvalidRequest, match=fault) as caught:
        parse_prompt(prompt)
    assert caught.value.code == "prompt_not_readable"


def test_ten_thousand_brackets_are_read_in_a_moment() -> None:
    assert parse_prompt("(" * 10_000 + "word" + ")" * 10_000).text == "word"


def run(*ids: int) -> Chunk:
    return Chunk(ids=ids, weights=(1.0,) * len(ids))


def test_long_prompts_are_cut_into_chunks_and_short_parts_since_a_comma_move_on() -> None:
    assert [len(one.ids) for one in chunked([run(*[7] * 200)], room=75, comma=9)] == [75, 75, 50]
    part = [7] * 60 + [9] + [8] * 30
    assert [one.ids for one in chunked([run(*part)], room=75, comma=9)] == [(*[7] * 60, 9), (8,) * 30]
    far = [7] * 40 + [9] + [8] * 50  # 34 tokens since the comma: too many to move
    assert [len(one.ids) for one in chunked([run(*far)], room=75, comma=9)] == [75, 16]
    assert [one.ids for one in chunked([run(1), run(2)], room=75, comma=9)] == [(1,), (2,)]
    assert chunked([Chunk()], room=75, comma=9) == [Chunk()]


def states_of(checkpoint: Checkpoint, prompt: str, negative: str = "") -> Any:
    pipe = pipeline(checkpoint)
    return pipe, prompt_states(pipe, checkpoint.family, parse_prompt(prompt), parse_prompt(negative))


@pytest.mark.parametrize("checkpoint", ["sd15", "sdxl"], indirect=True)
def test_plain_prompt_is_encoded_as_diffusers_encodes_it(checkpoint: Checkpoint) -> None:
    pipe, found = states_of(checkpoint, "a red dress", "blur")
    names = ["prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds"]
    if checkpoint.family is Family.SDXL:
        expected = pipe.encode_prompt("a red dress", negative_prompt="blur", device="cpu")
    else:
        expected = pipe.encode_prompt("a red dress", "cpu", 1, True, negative_prompt="blur")
    for name, value in zip(names, expected, strict=False):
        assert torch.equal(found.arguments[name], value)
    assert found.facts == {"prompt_chunks": 1, "prompt_weights": "none"}


def test_over_77_tokens_are_chunks_laid_end_to_end_on_both_sides(tiny_sdxl: Checkpoint) -> None:
    text = "red dress " * 20  # the tiny tokenizer has a token for each letter: 160
    pipe, found = states_of(tiny_sdxl, text, "blur")
    assert found.facts["prompt_chunks"] == 3
    embeds = found.arguments["prompt_embeds"]
    assert embeds.shape[1] == found.arguments["negative_prompt_embeds"].shape[1] == 3 * 77
    letters = text.replace(" ", "")
    first, *_ = pipe.encode_prompt("red dress " * 9 + "red", device="cpu")  # its 75 first letters
    assert letters.startswith("reddress" * 9 + "red")
    torch.testing.assert_close(embeds[:, :77], first, rtol=1e-5, atol=1e-6)


def test_break_fills_its_chunk_up(tiny_sd15: Checkpoint) -> None:
    pipe, found = states_of(tiny_sd15, "red BREAK blue")
    expected = [pipe.encode_prompt(one, "cpu", 1, False)[0] for one in ("red", "blue")]
    torch.testing.assert_close(found.arguments["prompt_embeds"], torch.cat(expected, dim=1), rtol=1e-5, atol=1e-6)


def test_weights_multiply_their_tokens_and_the_mean_is_kept(tiny_sd15: Checkpoint) -> None:
    pipe, found = states_of(tiny_sd15, "a (red:1.5) dress")
    plain = pipe.encode_prompt("a red dress", "cpu", 1, False)[0]
    factors = torch.ones(77)
    factors[2:5] = 1.5  # a mark, then a token a letter: a, r, e, d
    expected = plain * factors[None, :, None]
    expected = expected * (plain.mean() / expected.mean())
    torch.testing.assert_close(found.arguments["prompt_embeds"], expected, rtol=1e-4, atol=1e-5)
    assert found.facts["prompt_weights"] == "applied"


def test_states_whose_mean_vanishes_stay_finite() -> None:
    states = torch.tensor([[[1.0], [-1.0]]])
    assert weighted_states(states, torch.tensor([[2.0, 2.0]])).isfinite().all()


def test_flux_is_given_the_words_and_told_that_weights_are_not_applied(tiny_flux: Checkpoint) -> None:
    _, found = states_of(tiny_flux, "a (red:1.5) dress BREAK <lora:ink:1>")
    assert found.arguments["prompt"] == "a red dress"
    assert found.facts["prompt_weights"] == "not_applied"
    _, long = states_of(tiny_flux, "a" * 600)
    assert long.facts["prompt_tokens_dropped"] > 0


def test_drawn_64_reads_prompts_longer_than_its_encoder_and_weighs_words() -> None:
    from models.diffusion.drawn64.pipeline import random_drawn64

    pipe = random_drawn64(0)
    plain = prompt_states(pipe, Family.DRAWN64, parse_prompt("a red dress"), Prompt(sections=((),)))
    expected = pipe.encode_prompt(["a red dress", ""])
    torch.testing.assert_close(plain.arguments["prompt_embeds"], expected[:1])
    torch.testing.assert_close(plain.arguments["negative_prompt_embeds"], expected[1:])
    heavy = prompt_states(pipe, Family.DRAWN64, parse_prompt("a (red:2) dress"), Prompt(sections=((),)))
    ratio = heavy.arguments["prompt_embeds"] / plain.arguments["prompt_embeds"]
    assert ratio[0, :5, 0].tolist() == pytest.approx([1, 1, 2, 1, 1], rel=1e-5)
    long = prompt_states(pipe, Family.DRAWN64, parse_prompt("red " * 30), Prompt(sections=((),)))
    assert long.facts["prompt_chunks"] == 3
    assert long.arguments["prompt_embeds"].shape == (1, 48, 384)


def test_prompt_without_end_is_refused(tiny_sd15: Checkpoint) -> None:
    with pytest.raises(InvalidRequest) as caught:
        states_of(tiny_sd15, "BREAK " * 40)
    assert caught.value.code == "prompt_too_long"
