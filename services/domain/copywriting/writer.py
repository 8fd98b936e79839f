"""The template writer: a script from a brief without any model, and labelled so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.domain.brief import Brief, Script, WriterKind
from services.domain.copywriting.arrange import arrange
from services.domain.copywriting.checks import Tone
from services.domain.copywriting.facts import Fact, FactRole, facts_of
from services.domain.copywriting.length import primary_language, spoken_characters
from services.domain.copywriting.scripts import is_written_in, writing_of
from services.domain.copywriting.sentences import Grammar
from services.domain.errors import ContentRejected

TEMPLATE_LANGUAGES: Final = ("en", "zh")
_FIT: Final = 0.10


def write_from_template(brief: Brief, *, characters_per_s: float) -> Script:
    """A checked brief's script of about ``brief.duration_s`` at ``characters_per_s``.

    Its ``warnings`` say when the facts are too few for the seconds, or the seconds for the shortest script.

    Raises:
        ContentRejected: ``language_not_written``; ``facts_in_other_language`` when the facts' writing system is not
            the script language's, since nothing here translates.
    """
    check_writable(brief)
    facts = facts_of(brief)
    grammar = _grammar(facts, brief.language)
    content = repr([(fact.role, fact.text) for fact in facts])
    tone = brief.tone or (Tone.FRIENDLY, Tone.CONFIDENT)[len(content) % 2]
    result = arrange(
        facts,
        grammar,
        tone=tone,
        target=brief.duration_s * characters_per_s,
        length_of=lambda text: spoken_characters(text, brief.language),
        seed=f"{content} {tone} {brief.duration_s:g}",
    )
    duration_s = result.length / characters_per_s
    missing = [fact for fact in facts if fact not in result.used]
    return Script(
        text=result.text,
        language=brief.language,
        writer=WriterKind.TEMPLATE,
        estimated_duration_s=round(duration_s, 2),
        unused_facts=tuple(fact.given for fact in missing),
        warnings=fit_warnings(duration_s, brief.duration_s, [fact.given for fact in missing if fact.importance > 0]),
    )


def _grammar(facts: tuple[Fact, ...], language: str) -> Grammar:
    # Words and patterns of a language take longer to load than most of what imports this module may take.
    if primary_language(language) == "zh":
        from services.domain.copywriting.chinese.grammar import ChineseGrammar

        return ChineseGrammar(facts, language)
    from services.domain.copywriting.english.grammar import EnglishGrammar

    return EnglishGrammar(facts)


def check_writable(brief: Brief, *, param: str = "brief") -> None:
    """Nothing, when the template writer knows the brief's language and can use its facts.

    Args:
        param: Where the brief stands in the request; the error's ``param`` starts with it.

    Raises:
        ContentRejected: ``language_not_written``, ``facts_in_other_language``.
    """
    language = primary_language(brief.language)
    if language not in TEMPLATE_LANGUAGES:
        raise ContentRejected(
            f"The template writer writes {' and '.join(TEMPLATE_LANGUAGES)}, not {brief.language}; "
            "send the finished text, or set up a language model.",
            code="language_not_written",
            param=f"{param}.language",
        )
    _check_writing(facts_of(brief), language, param=f"{param}.language")


def fit_warnings(duration_s: float, wanted_s: float, unused_facts: Sequence[str] = ()) -> tuple[str, ...]:
    """What to tell a client whose script misses the asked seconds by more than a tenth."""
    if duration_s < (1 - _FIT) * wanted_s and unused_facts:
        return (
            f"no_exact_fit: the script takes about {duration_s:.1f} of {wanted_s:g} seconds, and every further fact "
            "would take it beyond them.",
        )
    if duration_s < (1 - _FIT) * wanted_s:
        return (
            f"too_few_facts: what the brief tells fills about {duration_s:.0f} of {wanted_s:g} seconds; "
            "add benefits or keywords for a longer script.",
        )
    if duration_s > (1 + _FIT) * wanted_s:
        return (
            f"too_few_seconds: the shortest script takes about {duration_s:.0f} seconds, {wanted_s:g} were asked for.",
        )
    return ()


def _check_writing(facts: tuple[Fact, ...], language: str, *, param: str) -> None:
    """Names may be in any writing; sentences' parts may not."""
    parts = [fact.text for fact in facts if fact.role in (FactRole.BENEFIT, FactRole.KEYWORD, FactRole.OFFER)]
    found = writing_of(" ".join(part for part in parts if not _is_designation(part)))
    if found is not None and not is_written_in(found, language):
        raise ContentRejected(
            f"The facts are written in {found} letters and the script is to be in {language}; the template writer "
            "does not translate. Give the facts in the script's language.",
            code="facts_in_other_language",
            param=param,
        )


def _is_designation(text: str) -> bool:
    """Whether ``text`` is said as it is in any language: SPF50, USB-C, iOS 18."""
    return all(any(map(str.isdigit, word)) or sum(map(str.isupper, word)) > 1 for word in text.split())
