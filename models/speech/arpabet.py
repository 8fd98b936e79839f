"""English phones by their ARPABET names and in IPA, and the nearest of them to any language's phonemes."""

from __future__ import annotations

import unicodedata
from typing import Final

IPA_OF: Final = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "aʊ", "AY": "aɪ", "B": "b", "CH": "tʃ", "D": "d", "DH": "ð",
    "EH": "ɛ", "ER": "ɜ", "EY": "eɪ", "F": "f", "G": "ɡ", "HH": "h", "IH": "ɪ", "IY": "i", "JH": "dʒ", "K": "k",
    "L": "l", "M": "m", "N": "n", "NG": "ŋ", "OW": "oʊ", "OY": "ɔɪ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ",
    "T": "t", "TH": "θ", "UH": "ʊ", "UW": "u", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
PHONE_OF: Final = {ipa: phone for phone, ipa in IPA_OF.items()}

_NEAREST: Final[tuple[tuple[str, str], ...]] = (
    # Longest first: what English has as one phone.
    ("tʃ", "CH"), ("dʒ", "JH"), ("tɕ", "CH"), ("dʑ", "JH"), ("tʂ", "CH"), ("dʐ", "JH"), ("aɪ", "AY"), ("aʊ", "AW"),
    ("ɔɪ", "OY"), ("eɪ", "EY"), ("oʊ", "OW"), ("əʊ", "OW"), ("ɔʏ", "OY"), ("ai", "AY"), ("au", "AW"), ("ei", "EY"),
    ("ou", "OW"), ("iː", "IY"), ("uː", "UW"), ("ɜː", "ER"), ("ɑː", "AA"), ("ɔː", "AO"),
    *((letter, phone) for letters, phone in (
        ("pƥ", "P"), ("bɓʙ", "B"), ("mɱ", "M"), ("fɸ", "F"), ("vβʋⱱ", "V"), ("wʍɥɰ", "W"), ("θ", "TH"), ("ð", "DH"),
        ("tʈ", "T"), ("dɖɗɾ", "D"), ("nɲɳ", "N"), ("lɫɭʎɬɮɺʟ", "L"), ("rɹɻɽʁʀ", "R"), ("sɿ", "S"), ("z", "Z"),
        ("ʃʂɕçɧ", "SH"), ("ʒʐʑʅ", "ZH"), ("jʝ", "Y"), ("kcq", "K"), ("ɡɟɢɣɠʄʛ", "G"), ("ŋɴ", "NG"), ("hɦxχħʜ", "HH"),
        ("iy", "IY"), ("ɪɨʏᵻ", "IH"), ("uʉɯ", "UW"), ("ʊɵᵿ", "UH"), ("e", "EY"), ("ɛœ", "EH"), ("æ", "AE"),
        ("əɘɐʌɤ", "AH"), ("øɜɚɝɞ", "ER"), ("oɔ", "AO"), ("aɑɒɶ", "AA"),
    ) for letter in letters),
)  # fmt: skip


def english_phones(symbol: str) -> tuple[str, ...]:
    """The nearest English phones (ARPABET) of one IPA phoneme; empty for glottal stops and tones."""
    found: list[str] = []
    rest = unicodedata.normalize("NFD", symbol.replace("g", "ɡ")).replace("c\u0327", "ç")
    while rest:
        for ipa, phone in _NEAREST:
            if rest.startswith(ipa):
                if not found or found[-1] != phone:
                    found.append(phone)
                rest = rest[len(ipa) :]
                break
        else:
            rest = rest[1:]
    return tuple(found)
