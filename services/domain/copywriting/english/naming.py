"""How the product is called: at first, later, and as a pronoun."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.casing import mid_sentence
from services.domain.copywriting.english.words import head_of, is_plural, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """``subject`` is None where singular and plural cannot be told apart; sentences then do without a pronoun.

    Attributes:
        is_name: A proper name ("CloudStride"), rather than a description ("ceramic mug").
    """

    first: str
    later: str
    subject: str | None
    is_name: bool

    @property
    def is_plural(self) -> bool:
        return self.subject == "they"

    @property
    def contracted(self) -> str:
        """The pronoun with its verb: "it's" or "they're"."""
        return "they're" if self.is_plural else "it's"

    @property
    def object(self) -> str:
        return "them" if self.is_plural else "it"

    def verb(self, singular: str, plural: str) -> str:
        return plural if self.is_plural else singular


def naming_of(product: str, brand: str | None) -> Naming:
    """``brand`` None: it is not told, or the product's name holds it already."""
    product = product.rstrip(".,;: ")
    article, _, rest = product.partition(" ")
    if article.lower() in ("a", "an", "our", "the") and rest:
        product = rest
    is_name = _stands_alone(product) or not _is_description(product)
    plural = is_plural(product)
    if plural and is_name and " " not in product:
        plural = None  # "AirPods" or "Atlas": nobody can tell
    subject = None if plural is None else "they" if plural else "it"
    if is_name:
        last_is_small = len(product.split()) > 1 and product.split()[-1].islower()
        described = last_is_small and _takes_article(product)  # "Nimbus mattress"
        if (article.lower() == "the" and rest) or described:
            product = f"the {product}"
        first = f"{product} from {brand}" if brand else product
        return Naming(first=first, later=product, subject=subject, is_name=True)
    product = mid_sentence(product, style_capitals=True)
    first = f"the {product} from {brand}" if brand else f"our {product}"
    return Naming(first=first, later=f"our {product}", subject=subject, is_name=False)


def _takes_article(product: str) -> bool:
    """Whether a name of the thing's kind ends ``product`` after one name: "Nimbus mattress", not "Oatly oat milk"."""
    head = head_of(words_of(product))
    second = product.split()[1]
    one_name = not second[:1].isupper() and second != "&"
    return head not in lexicon.MASS_NOUNS and one_name and not _stands_alone(product)


def _stands_alone(product: str) -> bool:
    """Whether ``product`` takes no article or "our": it has a possessive or a title, or it is an order."""
    words = words_of(product)
    if any(word.endswith(("'s", "s'")) for word in words[:3]) or words[0] in lexicon.TITLES:
        return True
    second = words[1] if len(words) > 1 else ""
    if words[0] in lexicon.VERBS | lexicon.VERBS_OR_NOUNS and second in lexicon.VERB_COMPLEMENTS:
        return True
    sentence = any(word in lexicon.PREPOSITIONS for word in words[2:])
    return words[0] in lexicon.VERBS and sentence and head_of(words) not in lexicon.COUNT_NOUNS


def holds_brand(product: str, brand: str) -> bool:
    return all(word in words_of(product) for word in words_of(brand))


def _is_description(product: str) -> bool:
    words = product.split()
    if any(word[:1].isupper() or word[1:] != word[1:].lower() for word in words[1:] if word.upper() != word):
        return False
    first = words[0]
    if first[:1].islower():
        return first == first.lower()
    if first != first.capitalize():
        return False
    known = first.lower()
    if len(words) == 1 and known in lexicon.ADJECTIVES:
        return False  # "Calm"
    listed = lexicon.ADJECTIVES | lexicon.MASS_NOUNS | lexicon.COUNT_NOUNS | lexicon.PARTICIPLES
    if known in listed or known.removesuffix("s") in listed:
        return True
    return len(words) > 1 and known.endswith(("ing", "ed", *lexicon.ADJECTIVE_ENDINGS))
