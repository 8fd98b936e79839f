"""Values and rules of the product: jobs, storyboards, timelines, keys, errors.

Frozen, slotted, keyword-only dataclasses and pure functions. No input or output, no clock, no SDK.
"""
