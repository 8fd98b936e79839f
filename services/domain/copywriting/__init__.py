"""The copy grammar: a brief's own facts arranged into a script to be spoken.

Pure functions on text. Nothing here adds a number, a name, a price or a claim: what a script says beyond its
frame words is copied from the brief. English and Chinese each have a folder that knows how their phrases join;
the choice of facts and forms that fills the asked seconds is the same for both (``arrange``). What checks a language
model's scripts is in ``claims``: its patterns take long to compile, and only those who have a model need them.
"""

from services.domain.copywriting.checks import BriefLimits, Tone, check_brief
from services.domain.copywriting.facts import plain
from services.domain.copywriting.length import primary_language, spoken_characters
from services.domain.copywriting.orders import is_order, without_orders
from services.domain.copywriting.scripts import is_foreign_to, is_written_in, writing_of
from services.domain.copywriting.writer import TEMPLATE_LANGUAGES, check_writable, fit_warnings, write_from_template

__all__ = [
    "TEMPLATE_LANGUAGES",
    "BriefLimits",
    "Tone",
    "check_brief",
    "check_writable",
    "fit_warnings",
    "is_foreign_to",
    "is_order",
    "is_written_in",
    "plain",
    "primary_language",
    "spoken_characters",
    "without_orders",
    "write_from_template",
    "writing_of",
]
