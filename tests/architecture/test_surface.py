"""Nothing public changes unnoticed: routes, commands, error branches, ports."""

from __future__ import annotations

from tests.architecture import surface


def test_public_surface_is_the_one_on_record():
    recorded = surface.TARGET.read_text(encoding="utf-8").splitlines()
    now = surface.surface()
    added, removed = sorted(set(now) - set(recorded)), sorted(set(recorded) - set(now))
    assert (added, removed) == ([], []), "intended? then run `python -m tests.architecture.surface`"
    assert now == recorded


def test_surface_covers_every_kind():
    kinds = {line.split(" ", 1)[0] for line in surface.surface()}
    assert kinds == {"route", "command", "error", "port"}
