"""``spokesmodel admin pictures``: the built-in presenters and models, put where every tenant finds them."""

from __future__ import annotations

import typer

from spokesmodel.cli.admin.stores import StateDir, stores
from spokesmodel.cli.output import AsJson, print_json


def pictures(state_dir: StateDir = None, as_json: AsJson = False) -> None:
    """Put the pictures of the built-in presenters and models into the store, once; `serve` does so by itself."""
    from services.domain.errors import Unavailable
    from spokesmodel.first_start import install_avatars, install_models

    with stores(state_dir, as_json=as_json) as services:
        num_avatars, num_models = install_avatars(services), install_models(services)
        if not num_avatars or not num_models:
            raise Unavailable(
                "The pictures are not on this machine; run `python -m models.weights` to fetch them.",
                code="weights_missing",
                retryable=False,
            )
        if as_json:
            print_json({"num_avatars": num_avatars, "num_models": num_models})
        else:
            typer.echo(f"{num_avatars} presenters and {num_models} models are in place")
