"""/v1/wigs and /v1/garments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lambdas.api.schemas.products import ProductBody, ProductsBody
from models.tryon.wig.pins import PINS
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, Failure, Output
from services.domain.job import Job
from services.domain.object_key import ObjectKey
from services.domain.picture_storyboards import GarmentStoryboard, ProductStoryboard, WigStoryboard
from services.domain.pins import WIG_PINS
from tests.fakes.world import TENANT, World

VERA = "model_01M8MW0N000TTE1VHXNGC78ZKS"


@pytest.fixture
def bob(world: World) -> dict[str, Any]:
    """The smallest wig."""
    return {"sku": "BOB-12", "photos": {"front": {"upload_id": world.upload()}}, "synthetic": True}


def started(world: World, product: dict[str, Any]) -> Job:
    """The product's job, held by an engine."""
    world.prepare(product["job_id"])
    return world.dispatch(product["job_id"])


def ingested(world: World, job: Job, *, photos: int = 1, **facts: Any) -> EngineAnswer:
    """The engine's good answer: an asset and a cutout a photo."""
    outputs = []
    for number in range(photos):
        for name, suffix in ((f"asset_{number}", "zip"), (f"cutout_{number}", "png")):
            key = world.request_of(job, job.attempt).output_key(f"{name}.{suffix}")
            world.objects.put(key, name.encode(), media_type="image/png")
            outputs.append(Output(name=name, key=str(key), media_type="image/png", size_bytes=len(name), sha256="0"))
    return EngineAnswer(
        job_id=job.id,
        attempt=job.attempt,
        state=AnswerState.SUCCEEDED,
        outputs=tuple(outputs),
        facts={"reasons": [], **facts},
        usage={"engine_cpu_s": 1.0},
    )


def ready(world: World, api: Any, path: str, body: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """A product whose ingest went well."""
    made = api.post(path, body)
    assert made.status == 202, made.text
    world.complete(ingested(world, started(world, made.body), photos=len(body["photos"]), **facts))
    return api.get(f"{path}/{made.body['id']}").body


def test_wig_is_processing_until_its_job_has_ended(world, api, bob):
    answer = api.post("/v1/wigs", bob)
    assert answer.status == 202, answer.text
    ProductBody.model_validate(answer.body)
    assert answer.headers["location"] == f"/v1/wigs/{answer.body['id']}"
    assert (answer.body["state"], answer.body["sku"], answer.body["photos"][0]["url"]) == ("processing", "BOB-12", None)
    job = started(world, answer.body)
    assert api.get(f"/v1/wigs/{answer.body['id']}").body["state"] == "processing"
    world.complete(ingested(world, job))
    body = api.get(f"/v1/wigs/{answer.body['id']}").body
    assert (body["state"], body["reasons"]) == ("ready", [])
    assert body["photos"][0]["view"] == "front"
    assert None not in (body["photos"][0]["url"], body["photos"][0]["cutout_url"])


def test_photos_by_view_reach_the_engine_with_their_pins(world, api):
    photos = {
        "front": {"upload_id": world.upload(), "pins": {"left_temple": [0.25, 0.5]}},
        "back": {"upload_id": world.upload("image/jpeg")},
    }
    answer = api.post("/v1/wigs", {"sku": "A", "photos": photos, "synthetic": True})
    job = world.prepare(answer.body["job_id"])
    board = wire.decode(ProductStoryboard, world.objects.get(ObjectKey.parse(job.storyboard_key)))
    assert [(shot.view, shot.pins) for shot in board.photos] == [("front", {"left_temple": (0.25, 0.5)}), ("back", {})]
    assert all(shot.photo_key.startswith(f"work/{TENANT}/{job.id}/0/") for shot in board.photos)


def test_what_was_made_is_kept_when_the_job_is_deleted(world, api, bob):
    wig = ready(world, api, "/v1/wigs", bob)
    assert api.delete(f"/v1/jobs/{wig['job_id']}").status == 204
    kept = [key for key in world.objects.stored_keys() if wig["id"] in key]
    assert sorted(key.rpartition("/")[2].partition(".")[0] for key in kept) == ["asset_0", "cutout_0", "photo_0"]
    assert all(key.startswith(f"catalogue/{TENANT}/{wig['id']}/0/") for key in kept)
    assert api.get(f"/v1/wigs/{wig['id']}").body["state"] == "ready"


def test_preview_takes_a_copy_of_what_was_made(world, api, bob):
    for model in world.models.list():
        world.objects.put(ObjectKey.parse(model.object_key), b"face", media_type="image/png")
    wig = ready(world, api, "/v1/wigs", bob)
    answer = api.post("/v1/wig-previews", {"model": {"model_id": VERA}, "wig": {"wig_id": wig["id"]}})
    assert answer.status == 202, answer.text
    assert api.delete(f"/v1/wigs/{wig['id']}").status == 204
    job = world.prepare(answer.body["id"])
    assert (job.failure.code, job.failure.param) == ("wig_not_found", "wig.wig_id")
    assert "deleted" in job.failure.detail
    assert [one for one in api.get("/v1/usage").body["totals"] if one["kind"] == "wig_preview"] == []
    other = ready(world, api, "/v1/wigs", bob)
    answer = api.post("/v1/wig-previews", {"model": {"model_id": VERA}, "wig": {"wig_id": other["id"]}})
    job = world.prepare(answer.body["id"])
    board = wire.decode(WigStoryboard, world.objects.get(ObjectKey.parse(job.storyboard_key)))
    assert (board.wig[0].photo_key, world.objects.get(ObjectKey.parse(board.wig[0].asset_key))) == (None, b"asset_0")


def test_sku_that_is_in_the_catalogue_already_is_taken_and_told(world, api, bob):
    first = ready(world, api, "/v1/wigs", bob)
    garment = ready(world, api, "/v1/garments", bob)  # another kind's names are its own
    assert (first["reasons"], garment["reasons"]) == ([], [])
    blur = {"code": "product_blurred", "detail": "Soft.", "blocking": False, "photo": 0}
    second = api.post("/v1/wigs", bob).body
    [told] = second["reasons"]
    assert (told["code"], told["blocking"], told["view"], first["id"] in told["detail"]) == (
        "sku_in_use",
        False,
        None,
        True,
    )
    world.complete(ingested(world, started(world, second), reasons=[blur]))
    kept = api.get(f"/v1/wigs/{second['id']}").body
    assert (kept["state"], [one["code"] for one in kept["reasons"]]) == ("ready", ["sku_in_use", "product_blurred"])
    assert api.get(f"/v1/wigs/{first['id']}").body["reasons"] == []


def test_sku_of_a_rejected_or_deleted_product_is_free(world, api, bob):
    rejected = api.post("/v1/wigs", bob).body
    world.complete(
        ingested(
            world,
            started(world, rejected),
            photos=0,
            reasons=[{"code": "product_empty", "detail": "Nothing.", "blocking": True, "photo": 0}],
        )
    )
    deleted = ready(world, api, "/v1/wigs", bob)
    assert api.delete(f"/v1/wigs/{deleted['id']}").status == 204
    assert api.post("/v1/wigs", bob).body["reasons"] == []


def test_recognised_category_is_the_garments_and_its_previews(world, api, bob):
    for model in world.models.list():
        world.objects.put(ObjectKey.parse(model.object_key), b"body", media_type="image/png")
    garment = ready(world, api, "/v1/garments", bob, category="skirt")
    assert garment["category"] == "skirt"
    order = {"model": {"model_id": VERA}, "garment": {"garment_id": garment["id"]}}
    job = world.prepare(api.post("/v1/garment-previews", order).body["id"])
    board = wire.decode(GarmentStoryboard, world.objects.get(ObjectKey.parse(job.storyboard_key)))
    assert board.category == "skirt"
    refused = api.post("/v1/garment-previews", {**order, "category": "top"})
    assert refused.problem == (400, "not_used", "category")


def test_every_reason_of_a_rejected_product_is_kept_and_its_job_names_the_first(world, api):
    photos = {view: {"upload_id": world.upload()} for view in ("front", "left")}
    wig = api.post("/v1/wigs", {"sku": "A", "photos": photos, "synthetic": True}).body
    reasons = [
        {"code": "product_keeps_skin", "detail": "An ear.", "blocking": False, "photo": 0},
        {"code": "product_touches_frame", "detail": "At the left.", "blocking": True, "photo": 1},
        {"code": "product_empty", "detail": "Nothing.", "blocking": True, "photo": 0},
    ]
    job = world.complete(ingested(world, started(world, wig), photos=0, reasons=reasons))
    assert (job.state, job.failure.code, job.failure.param) == ("failed", "product_touches_frame", "photos.left")
    body = api.get(f"/v1/wigs/{wig['id']}").body
    assert body["state"] == "rejected"
    assert [(one["code"], one["view"], one["blocking"]) for one in body["reasons"]] == [
        ("product_keeps_skin", "front", False),
        ("product_touches_frame", "left", True),
        ("product_empty", "front", True),
    ]
    assert [key for key in world.objects.stored_keys() if key.startswith("catalogue")] == []
    refused = api.post("/v1/wig-previews", {"model": {"model_id": VERA}, "wig": {"wig_id": wig["id"]}})
    assert refused.problem == (422, "product_rejected", "wig.wig_id")
    assert "product_touches_frame" in refused.body["detail"]


def test_refusal_of_the_engine_rejects_the_product(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    job = started(world, wig)
    failure = Failure(code="product_polarity", detail="The mask is of the background.")
    world.complete(EngineAnswer(job_id=job.id, attempt=job.attempt, state=AnswerState.FAILED, failure=failure))
    body = api.get(f"/v1/wigs/{wig['id']}").body
    assert (body["state"], [one["code"] for one in body["reasons"]]) == ("rejected", ["product_polarity"])


def test_broken_attempt_leaves_the_product_processing_while_another_follows(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    job = started(world, wig)
    world.complete(world.failed(job, retryable=True))
    assert api.get(f"/v1/wigs/{wig['id']}").body["state"] == "processing"


def test_canceled_ingest_rejects_the_product(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    assert api.post(f"/v1/jobs/{wig['job_id']}/cancel").status == 200
    page = api.get("/v1/wigs").body
    ProductsBody.model_validate(page)
    assert [(one["state"], one["reasons"][0]["code"]) for one in page["items"]] == [("rejected", "canceled")]


def test_answer_that_is_not_as_agreed_rejects_the_product(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    job = started(world, wig)
    ended = world.complete(ingested(world, job, reasons=[{"what": 1}]))
    assert (ended.state, ended.failure.code) == ("failed", "engine_failed")
    assert api.get(f"/v1/wigs/{wig['id']}").body["state"] == "rejected"


def test_repeated_notice_settles_what_a_crash_left(world, api, bob, monkeypatch):
    wig = api.post("/v1/wigs", bob).body
    job = started(world, wig)
    answer = ingested(world, job)

    def crash(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(world.products, "settle", crash)
        with pytest.raises(KeyboardInterrupt):
            world.complete(answer)
    assert world.products.get(TENANT, wig["id"]).state == "processing"
    world.complete(answer)
    assert world.products.get(TENANT, wig["id"]).state == "ready"


def test_unfinished_product_is_not_ready_for_previews(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    refused = api.post("/v1/wig-previews", {"model": {"model_id": VERA}, "wig": {"wig_id": wig["id"]}})
    assert refused.problem == (422, "product_not_ready", "wig.wig_id")


def test_deleted_product_is_gone_with_its_job_and_does_not_come_back(world, api, bob):
    wig = api.post("/v1/wigs", bob).body
    job = started(world, wig)
    answer = ingested(world, job)
    assert api.delete(f"/v1/wigs/{wig['id']}").status == 204
    assert api.get(f"/v1/jobs/{wig['job_id']}").body["state"] == "canceled"
    world.complete(answer)
    assert api.get(f"/v1/wigs/{wig['id']}").problem == (404, "wig_not_found", None)
    assert [key for key in world.objects.stored_keys() if wig["id"] in key] == []


def test_products_are_listed_by_kind_and_sku_for_their_tenant(world, api, other_api, bob):
    wigs = [api.post("/v1/wigs", {**bob, "sku": sku}).body["id"] for sku in ("A", "B", "A")]
    garment = api.post("/v1/garments", {**bob, "sku": "A"}).body["id"]
    assert [one["id"] for one in api.get("/v1/wigs").body["items"]] == sorted(wigs, reverse=True)
    assert [one["id"] for one in api.get("/v1/garments?sku=A").body["items"]] == [garment]
    first = api.get("/v1/wigs?sku=A&limit=1").body
    rest = api.get(f"/v1/wigs?sku=A&limit=1&cursor={first['next_cursor']}").body
    found = [first["items"][0]["id"], rest["items"][0]["id"]]
    assert (found, rest["next_cursor"]) == (sorted((wigs[0], wigs[2]), reverse=True), None)
    assert other_api.get("/v1/wigs").body["items"] == []
    assert other_api.get(f"/v1/wigs/{wigs[0]}").problem == (404, "wig_not_found", None)
    assert other_api.delete(f"/v1/wigs/{wigs[0]}").problem == (404, "wig_not_found", None)
    assert api.get(f"/v1/garments/{wigs[0]}").problem == (404, "garment_not_found", None)
    assert api.get(f"/v1/wigs?cursor={garment}").problem == (400, "malformed_cursor", "cursor")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sku": ""}, (400, "invalid_request", "sku")),
        ({"sku": " "}, (400, "out_of_range", "sku")),
        ({"sku": "a\x1b[2J"}, (422, "control_character", "sku")),
        ({"photos": {}}, (400, "invalid_request", "photos.front")),
        ({"photos": {"front": {}}}, (400, "exactly_one", "photos.front")),
        ({"synthetic": False}, (403, "consent_required", "consent_id")),
        ({"category": "top"}, (400, "invalid_request", "category")),
    ],
)
def test_wrong_product_is_refused_by_name(api, bob, change, problem):
    assert api.post("/v1/wigs", {**bob, **change}).problem == problem


@pytest.mark.parametrize(
    ("pins", "problem"),
    [
        ({"left_temple": [0.5, 1.5]}, (400, "invalid_request", "photos.front.pins.left_temple.1")),
        ({"left_temple": [0.5]}, (400, "invalid_request", "photos.front.pins.left_temple")),
        ({"Temple!": [0.5, 0.5]}, (400, "pins_unknown", "photos.front.pins")),
        ({"hem_left": [0.5, 0.5]}, (400, "pins_unknown", "photos.front.pins")),  # a garment's
    ],
)
def test_wrong_pin_is_refused_by_name(world, api, bob, pins, problem):
    photos = {"front": {"upload_id": world.upload(), "pins": pins}}
    assert api.post("/v1/wigs", {**bob, "photos": photos}).problem == problem


def test_photo_must_be_a_picture_that_has_arrived(world, api, bob):
    for upload, code in (
        (world.upload("video/mp4"), "wrong_media_type"),
        (world.upload(data=None), "upload_incomplete"),
    ):
        answer = api.post("/v1/wigs", {**bob, "photos": {"front": {"upload_id": upload}}})
        assert answer.problem == (422, code, "photos.front.upload_id")


def test_deletion_of_a_person_takes_products_that_show_them(world, api):
    consent = api.post(
        "/v1/consents",
        {
            "subject": "Ann",
            "likenesses": ["face"],
            "purpose": "campaign",
            "evidence_upload_id": world.upload("image/png"),
        },
    ).body["id"]
    body = {"sku": "A", "photos": {"front": {"upload_id": world.upload()}}, "consent_id": consent}
    wig = ready(world, api, "/v1/wigs", body)
    assert wig["consent_id"] == consent
    deleted = api.delete("/v1/subjects/Ann").body
    assert (deleted["num_products"], deleted["num_uploads"], deleted["num_jobs"]) == (1, 2, 1)  # the evidence, too
    assert api.get(f"/v1/wigs/{wig['id']}").status == 404
    assert [key for key in world.objects.stored_keys() if wig["id"] in key or wig["job_id"] in key] == []


def test_revoked_consent_keeps_a_ready_product_from_previews(world, api):
    consent = api.post(
        "/v1/consents",
        {
            "subject": "Ann",
            "likenesses": ["face"],
            "purpose": "campaign",
            "evidence_upload_id": world.upload("image/png"),
        },
    ).body["id"]
    body = {"sku": "A", "photos": {"front": {"upload_id": world.upload()}}, "consent_id": consent}
    wig = ready(world, api, "/v1/wigs", body)
    order = {"model": {"model_id": VERA}, "wig": {"wig_id": wig["id"]}}
    accepted = api.post("/v1/wig-previews", order).body["id"]
    api.post(f"/v1/consents/{consent}/revoke")
    assert api.get(f"/v1/jobs/{accepted}").body["failure"]["code"] == "consent_revoked"
    assert api.post("/v1/wig-previews", order).problem == (403, "consent_revoked", "wig.consent_id")


def test_repeated_registration_makes_one_product_and_one_job(world, api, bob):
    first = api.post("/v1/wigs", bob, headers={"idempotency-key": "a"})
    again = api.post("/v1/wigs", bob, headers={"idempotency-key": "a"})
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert (len(api.get("/v1/wigs").body["items"]), len(world.jobs.list(TENANT).items)) == (1, 1)
    api.delete(f"/v1/wigs/{first.body['id']}")
    assert api.post("/v1/wigs", bob, headers={"idempotency-key": "a"}).problem[:2] == (410, "deleted_since")


def test_whoever_waits_gets_the_product_as_it_became(world, api, bob, monkeypatch):
    def end_at_once(seconds: float) -> None:
        [job] = world.jobs.list(TENANT).items
        if not job.state.is_final:
            world.complete(ingested(world, started(world, {"job_id": job.id})))

    monkeypatch.setattr(world.clock, "sleep", end_at_once)
    answer = api.post("/v1/wigs", bob, headers={"prefer": "wait=5"})
    assert (answer.status, answer.body["state"]) == (200, "ready")
    assert answer.headers["preference-applied"] == "wait=5"


def test_tenants_products_go_with_it(world, api, bob):
    from services.usecases.delete_tenant import delete_tenant

    wig = ready(world, api, "/v1/wigs", bob)
    garment = ready(world, api, "/v1/garments", bob)
    delete_tenant(TENANT, stores=replace(world.services))
    for product in (wig, garment):
        assert [key for key in world.objects.stored_keys() if product["id"] in key] == []
    assert world.products._products == {}


def test_pins_of_a_garment_are_those_of_its_category_once_that_is_known(world, api):
    def answer(category: str | None) -> Any:
        photos = {"front": {"upload_id": world.upload(), "pins": {"crotch": [0.5, 0.5]}}}
        return api.post("/v1/garments", {"sku": "A", "photos": photos, "synthetic": True, "category": category})

    refused = answer("skirt")
    assert refused.problem == (400, "pins_unknown", "photos.front.pins")
    assert "hem_middle" in refused.body["detail"]
    assert answer("trousers").status == 202
    assert answer(None).status == 202


def test_product_of_the_other_kind_is_named_as_it_was_asked_for(api):
    unknown = "01JDV3M0Q8T2A4B6C8D0E2F4G6"
    assert api.get(f"/v1/garments/wig_{unknown}").problem == (404, "garment_not_found", None)
    assert api.delete(f"/v1/wigs/garment_{unknown}").problem == (404, "wig_not_found", None)


def test_names_of_pins_are_those_of_the_wig_engine():
    assert tuple(PINS) == WIG_PINS
