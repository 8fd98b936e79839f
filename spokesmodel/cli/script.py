"""``spokesmodel script``: a brief becomes a text to be spoken."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from spokesmodel.cli.output import AsJson, print_json, told_errors
from spokesmodel.cli.texts import read_brief


def script(
    brief: Annotated[
        str | None, typer.Option("--brief", metavar="FILE", help="A brief as JSON: a file, or - for standard input.")
    ] = None,
    product: Annotated[str | None, typer.Option(help="What is sold, as the customer names it.")] = None,
    brand: Annotated[str | None, typer.Option(help="Whose it is.")] = None,
    audience: Annotated[str | None, typer.Option(help="Whom it is for.")] = None,
    benefit: Annotated[list[str] | None, typer.Option(help="What the customer gets from it; repeat it.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="A key point; repeat it.")] = None,
    offer: Annotated[str | None, typer.Option(help="A discount, a gift, a date.")] = None,
    price: Annotated[str | None, typer.Option(help="With its currency.")] = None,
    call_to_action: Annotated[str | None, typer.Option(help="What the viewer is asked to do.")] = None,
    tone: Annotated[str | None, typer.Option(help="friendly, confident, playful or calm.")] = None,
    language: Annotated[str | None, typer.Option(help="BCP 47, such as en-US or zh-CN.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Spoken length to aim at.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a script from the facts of a brief: a JSON file, options, or both (options win)."""
    with told_errors(as_json):
        from services.domain import wire
        from services.domain.brief import Brief
        from services.settings import Settings
        from services.usecases.check_text import check_brief
        from services.usecases.write_script import write_script

        given: dict[str, Any] = {
            "product": product,
            "brand": brand,
            "audience": audience,
            "benefits": benefit,
            "keywords": keyword,
            "offer": offer,
            "price": price,
            "call_to_action": call_to_action,
            "tone": tone,
            "language": language,
            "duration_s": seconds,
        }
        values = {"language": "en-US", "duration_s": 20.0} | (read_brief(brief) if brief else {})
        values |= {name: value for name, value in given.items() if value}
        facts = wire.from_values(Brief, values)
        check_brief(facts, Settings.from_environment(os.environ))
        written = write_script(facts, language_model=None)
        if as_json:
            print_json(wire.to_values(written))
            return
        typer.echo(written.text)
        unused = f", left out: {'; '.join(written.unused_facts)}" if written.unused_facts else ""
        typer.echo(f"[{written.writer}, about {written.estimated_duration_s:.0f} s{unused}]", err=True)
