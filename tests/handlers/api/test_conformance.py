"""Requests that schemathesis makes of the OpenAPI document, good and bad, against the whole local stack in one process.

Whatever comes, the answer is one that the document promises: status, media type, headers and body.
"""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lambdas import runtime
from lambdas.api.openapi import document
from services.bootstrap import bootstrap
from services.settings import Settings
from services.usecases.manage_keys import create_tenant, issue_key
from spokesmodel.bridge import build_app
from spokesmodel.template import load
from tests.fakes.catalogue import FakeVoiceCatalogue
from tests.handlers.api.test_openapi import TEMPLATE

# A rule between two fields, or an id that does not exist, refuses what a JSON Schema allows.
NOT_PROMISED = [positive_data_acceptance]


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """The OpenAPI document of a running API, and a key for it."""
    state_dir = tmp_path_factory.mktemp("state")
    services = bootstrap(Settings(state_dir=state_dir), voices=FakeVoiceCatalogue())
    tenant = create_tenant("Acme", tenants=services.tenants, audit=services.audit, clock=services.clock)
    key = issue_key(tenant.id, tenants=services.tenants, audit=services.audit, clock=services.clock)
    app = build_app(services, load(TEMPLATE))
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
    schema.key = key.secret
    yield schema
    runtime.use_services(None)


OPERATIONS = [(path, method) for path, methods in document()["paths"].items() for method in methods]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{method} {path}" for path, method in OPERATIONS])
def test_every_answer_is_one_that_the_document_promises(stack, path, method, mode):
    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=stack[path][method].as_strategy(generation_mode=mode))
    def ask(case):
        if "Prefer" in (case.headers or {}):
            case.headers["Prefer"] = "wait=0"  # nobody works on the jobs
        case.call_and_validate(headers={"Authorization": f"Bearer {stack.key}"}, excluded_checks=NOT_PROMISED)

    try:
        ask()
    except Unsatisfiable:
        pytest.skip("nothing of this operation can be wrong")
