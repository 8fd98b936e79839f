"""One process serves several requests at once, as the bridge does on one machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from services.usecases.manage_keys import issue_key
from tests.fakes.world import make_tenant
from tests.handlers.api.gateway import Gateway


def test_callers_at_once_are_never_mixed_up(world):
    gateways = {}
    for number in range(8):
        tenant = make_tenant(f"tenant_{number:026d}")
        world.tenants.add(tenant)
        job = world.submit(tenant_id=tenant.id)
        key = issue_key(tenant.id, tenants=world.tenants, audit=world.audit, clock=world.clock)
        gateways[job.id] = Gateway(key.secret)

    def ask(number: int) -> None:
        own, gateway = list(gateways.items())[number % 8]
        listed = gateway.get("/v1/jobs", request_id=f"r-{number}")
        assert [job["id"] for job in listed.body["items"]] == [own]
        foreign = list(gateways)[(number + 1) % 8]
        refused = gateway.get(f"/v1/jobs/{foreign}", request_id=f"r-{number}")
        assert (refused.status, refused.body["request_id"]) == (404, f"r-{number}")

    with ThreadPoolExecutor(8) as pool:
        for asked in [pool.submit(ask, number) for number in range(400)]:
            asked.result()


def test_nothing_of_a_request_stays_after_it(world, api):
    api.get("/v1/jobs")
    assert Gateway().get("/v1/jobs").status == 401
