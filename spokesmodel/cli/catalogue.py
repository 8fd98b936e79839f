"""``spokesmodel voices``, ``spokesmodel avatars`` and ``spokesmodel models``: what can be chosen."""

from __future__ import annotations

from typing import Annotated

import typer

from spokesmodel.cli.backend import StateDir, backend
from spokesmodel.cli.output import AsJson, print_json, print_table, told_errors


def voices(
    language: Annotated[str | None, typer.Option(help="Only voices of this language, such as en or pt-BR.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the voices: id, language, engine, name."""
    with told_errors(as_json):
        from services.adapters.local.voices import LocalVoiceCatalogue
        from services.domain import wire

        found = LocalVoiceCatalogue().list(language=language)
        if as_json:
            print_json([wire.to_values(voice) for voice in found])
            return
        rows = [(voice.id, voice.language, voice.engine, voice.gender or "-", voice.name) for voice in found]
        print_table(("id", "language", "engine", "gender", "name"), rows)


def avatars(state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """List the presenters: the built-in ones, and with a state folder your own."""
    with told_errors(as_json), backend(state_dir, with_engines=False) as client:
        found = list(client.items("/v1/avatars"))
        if as_json:
            print_json(found)
            return
        rows = [
            (avatar["id"], avatar["name"], avatar["kind"], "built in" if avatar["built_in"] else "own")
            for avatar in found
        ]
        print_table(("id", "name", "kind", "whose"), rows)


def models(state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """List the built-in models who wear products: id, name, and what they are like."""
    with told_errors(as_json), backend(state_dir, with_engines=False) as client:
        found = list(client.items("/v1/models"))
        if as_json:
            print_json(found)
            return
        traits = ("gender", "age", "skin_tone", "body", "pose", "scene")
        rows = [(model["id"], model["name"], *(str(model[trait]) for trait in traits)) for model in found]
        print_table(("id", "name", *traits), rows)
