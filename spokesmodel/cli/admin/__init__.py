"""``spokesmodel admin``: the operator's commands. They act on the stores themselves, not over the API.

Which stores is said by the settings: a state folder on one machine, or with ``SPOKESMODEL_PROFILE=aws`` the tables,
bucket and queues of a stack. Whoever may open those may run this; every act is an entry of the audit log.
"""

from __future__ import annotations

import typer

from spokesmodel.cli.admin import jobs, keys, pictures, records, tenants

app = typer.Typer(
    help="Operate tenants, keys, jobs and dead letters on the stores that the settings name.", no_args_is_help=True
)
for _name, _commands in (
    ("tenants", tenants.app),
    ("keys", keys.app),
    ("jobs", jobs.app),
    ("dead-letters", jobs.dead_letters_app),
):
    app.add_typer(_commands, name=_name)
app.command("usage")(records.usage)
app.command("consents")(records.consents)
app.command("audit")(records.audit)
app.command("pictures")(pictures.pictures)
