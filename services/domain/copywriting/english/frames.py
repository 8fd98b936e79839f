"""The frame sentences. They greet, present and order; none of them claims anything about a product.

``{x}`` is a phrase, ``{product}`` the product with its brand, ``{name}`` its later mention, ``{they}`` and
``{they_are}`` pronouns; ``{there_is}`` agrees with the phrase. A frame with a pronoun serves only where the product's
number is known; ``s`` in ``give{s}`` is its verb's ending. Frames under ``any`` serve every tone. A frame with "also"
or "plus" serves only after another benefit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Table = Mapping[str, tuple[str, ...]]

GREETING: Final[Table] = {
    "friendly": ("Hi there!", "Hello!", "Hello, and welcome."),
    "confident": ("Listen to this.", "Good to have you here."),
    "playful": ("Psst!", "Hey, you!", "Drumroll, please!"),
    "calm": ("Take a moment.", "Take a breath.", "Good to see you."),
}
HOOK_ACTION: Final[Table] = {
    "any": ("Want to {x}?", "Would you like to {x}?"),
    "confident": ("Ready to {x}?",),
    "playful": ("Who wants to {x}?", "Fancy a way to {x}?"),
    "calm": ("Imagine: you {x}.",),
}
HOOK_PEOPLE: Final[Table] = {
    "any": ("{X}, this is for you.",),
    "friendly": ("{X}, this one's for you.", "Hello to all {x}!"),
    "confident": ("A message to {x}.",),
    "playful": ("Calling all {x}!", "{X}, listen up!"),
    "calm": ("A few words for {x}.",),
}
HOOK_CANNOT: Final[Table] = {"any": ("Can't {x}?",), "friendly": ("Can't {x}? Then this is for you.",)}
HOOK_QUESTION: Final[Table] = {"any": ("Do you {x}?",), "friendly": ("Do you {x}? Then this is for you.",)}
INTRODUCTION: Final[Table] = {
    "any": ("Meet {product}.", "This is {product}."),
    "friendly": ("Say hello to {product}.", "Let me introduce you to {product}.", "I'd like you to meet {product}."),
    "confident": ("Introducing {product}.", "Here {is_name} {product}."),
    "playful": ("Say hi to {product}!", "Ta-da: {product}!", "Guess who's here: {product}!"),
    "calm": ("Let me show you {product}.", "I'd like to show you {product}."),
}
AUDIENCE: Final[Table] = {
    "any": ("This is for {x}.",),
    "friendly": ("And this one's for {x}.",),
    "calm": ("It's here for {x}.",),
}
QUALITIES: Final[Table] = {
    "any": ("{They_are} {x}.",),
    "confident": ("{Name} {is_name} {x}.",),
    "friendly": ("{They_are} also {x}.", "{Name} {is_name} {x}."),
    "playful": ("{They_are} also {x}.", "Yes, {they_are} {x}!"),
    "calm": ("{They_are} also {x}.", "{Name} {is_name} {x}."),
}
NOUNS: Final[Table] = {
    "any": ("You get {x}.", "You also get {x}.", "{There_is} also {x}."),
    "confident": ("Expect {x}.",),
    "playful": ("Hello, {x}!", "We're talking {x}."),
    "calm": ("Enjoy {x}.",),
}
LABELS: Final[Table] = {
    "any": ("{X}.", "Also: {x}.", "Plus: {x}."),
    "playful": ("We're talking {x}.",),
}
ACTIONS: Final[Table] = {
    "any": ("{X}.", "You can {x}."),
    "friendly": ("You can also {x}.", "{They} let{s} you {x}."),
    "confident": ("{They} let{s} you {x}.",),
    "playful": ("Time to {x}!",),
    "calm": ("{They} let{s} you {x}.",),
}
PREDICATES: Final[Table] = {
    "any": ("{They} {x}.", "{Name} {x}."),
    "playful": ("And guess what: {they} {x}!",),
}
KEYWORDS: Final[Table] = {
    "any": ("Think {x}.", "In short: {x}."),
    "friendly": ("The key words? {X}.",),
    "confident": ("In a few words: {x}.",),
    "playful": ("Picture this: {x}.",),
    "calm": ("Think of {x}.",),
}
KEYWORD: Final[Table] = {"any": ("Plus: {x}.", "And: {x}.")}
RECAP_ACTIONS: Final[Table] = {
    "any": ("So, once more: {x}.",),
    "friendly": ("With {name}, you can {x}.",),
    "confident": ("Remember: with {name}, you can {x}.",),
}
RECAP: Final[Table] = {
    "any": ("So that's {name}: {x}.", "Once more, in short: {x}."),
    "friendly": ("So, to sum up: {x}.",),
    "confident": ("Remember: {x}.",),
    "calm": ("To sum up: {x}.",),
}
PRICE: Final[Table] = {
    "any": ("The price: {x}.",),
    "friendly": ("You can have {them} for {x}.", "{They're} yours for {x}."),
    "confident": ("{They're} yours for {x}.", "The price is {x}."),
    "playful": ("{They're} all yours for {x}!", "And the price tag? {X}."),
    "calm": ("The price is {x}.",),
}
PRICE_FROM: Final[Table] = {
    "any": ("Prices start at {x}.",),
    "playful": ("And the price? It all starts at {x}.",),
}
PRICE_FREE: Final[Table] = {"any": ("And the price? {X}.", "The price: {x}."), "calm": ("The price: {x}.",)}
OFFER: Final[Table] = {
    "any": ("Here's the offer: {x}.", "And there's an offer: {x}."),
    "friendly": ("And here's something for you: {x}.",),
    "confident": ("Our offer to you: {x}.",),
    "playful": ("Psst, there's an offer: {x}!",),
    "calm": ("There's also an offer: {x}.",),
}
OFFER_NOUNS: Final[Table] = {"any": ("You get {x}.",), "confident": ("{X}.",), "playful": ("And you get {x}!",)}
OFFER_ACTION: Final[Table] = {"any": ("{X}.",), "playful": ("{X}!",)}
CALL_ACTION: Final[Table] = {"any": ("{X}.",), "friendly": ("So {x}.", "{X}."), "playful": ("{X}!", "So {x}!")}
CALL_PLACE: Final[Table] = {
    "any": ("Find out more at {x}.", "Visit {x}."),
    "confident": ("Go to {x}.",),
    "playful": ("Hop over to {x}!",),
}
CALL_NONE: Final[Table] = {
    "any": ("Take a closer look.", "See for yourself."),
    "friendly": ("Come and have a look.", "Come and get to know {name}."),
    "confident": ("Discover {name}.",),
    "playful": ("Go on, have a look!",),
    "calm": ("Take your time, and have a look.",),
}
SIGN_OFF: Final[Table] = {
    "friendly": ("See you soon!", "Thanks for listening!"),
    "playful": ("See you there!", "Bye for now!"),
    "calm": ("Thank you for listening.",),
}
SIGN_OFF_PLACE: Final[Table] = {"any": ("That's {x}.",), "playful": ("That's {x}!",)}
# Before a later sentence about the product, which then starts small.
LINKS: Final[Table] = {
    "any": ("And ", "Plus, "),
    "friendly": ("On top of that, ", "Also, "),
    "confident": ("Also, ",),
    "playful": ("Oh, and ", "Wait, there's more: "),
    "calm": ("Also, ",),
}
