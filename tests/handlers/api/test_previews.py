"""POST /v1/wig-previews, /v1/garment-previews, /v1/images; GET /v1/models."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.api.schemas.jobs import JobDetailBody
from lambdas.api.schemas.models import ModelsBody
from models.tryon.wig.colour import NAMED
from services.domain import wire
from services.domain.image_steps import BackgroundStep, CropShape, CropStep, ImageRequest, RetouchStep
from services.domain.model_choice import Pose
from services.domain.object_key import ObjectKey
from services.domain.picture_storyboards import GarmentStoryboard, ImageStoryboard, WigStoryboard
from services.domain.preview import HAIR_COLOURS, WigPreviewRequest
from services.domain.product import GarmentCategory
from services.domain.video import BackgroundKind
from services.ports.catalogue import Avatar
from tests.fakes.world import TENANT, World

VERA = "model_01M8MW0N000TTE1VHXNGC78ZKS"
AVATAR = "avatar_01JVVVVVVVVVVVVVVVVVVVVVVV"


@pytest.fixture
def pictures(world: World) -> None:
    """The built-in models' pictures are in the store, each with its id for content."""
    for model in world.models.list():
        world.objects.put(ObjectKey.parse(model.object_key), model.id.encode(), media_type=model.media_type)


@pytest.fixture
def wig(world: World) -> dict[str, Any]:
    """The smallest wig request."""
    return {"model": {"model_id": VERA}, "wig": {"upload_id": world.upload(), "synthetic": True}}


@pytest.fixture
def garment(world: World) -> dict[str, Any]:
    """The smallest garment request."""
    return {"model": {"model_id": VERA}, "garment": {"upload_id": world.upload(), "synthetic": True}}


def storyboard(world: World, answer: Any, cls: type[Any]) -> Any:
    job = world.prepare(answer.body["id"])
    assert job.failure is None, job.failure
    return wire.decode(cls, world.objects.get(ObjectKey.parse(job.storyboard_key or "")))


def test_wig_preview_is_accepted_with_everything_asked_for(world, api, pictures):
    backdrop = world.upload("image/jpeg", b"\xff\xd8\xff\xe0wall")
    body = {
        "model": {"upload_id": world.upload(), "face": 1, "synthetic": True},
        "wig": {"upload_id": world.upload(), "synthetic": True, "pins": {"left_temple": [0.25, 0.5]}},
        "yaw_deg": [-30, 0, 30],
        "turntable": True,
        "colours": ["auburn", "#3a2A22"],
        "background": {"kind": "image", "upload_id": backdrop},
        "disclosure": {"visible_label": False},
        "seed": 7,
        "callback_url": "https://93.184.216.34/hook",
    }
    answer = api.post("/v1/wig-previews", body)
    assert answer.status == 202, answer.text
    JobDetailBody.model_validate(answer.body)
    assert answer.headers["location"] == f"/v1/jobs/{answer.body['id']}"
    assert answer.body["kind"] == "wig_preview"
    assert "label.turned_off" in [entry.action for entry in world.audit.list(TENANT).items]
    board = storyboard(world, answer, WigStoryboard)
    assert (board.model.face, board.yaw_deg, board.turntable, board.seed) == (1, (-30.0, 0.0, 30.0), True, 7)
    assert board.colours == ("auburn", "#3a2A22")
    assert board.wig[0].pins == {"left_temple": (0.25, 0.5)}
    assert board.background.kind is BackgroundKind.IMAGE
    assert world.objects.get(ObjectKey.parse(board.background.key)) == b"\xff\xd8\xff\xe0wall"
    for key in (board.model.key, board.wig[0].photo_key, board.background.key):
        assert key.startswith(f"work/{TENANT}/{answer.body['id']}/0/")


def test_garment_preview_takes_the_category_of_a_photo(world, api, garment, pictures):
    answer = api.post("/v1/garment-previews", {**garment, "category": "dress"})
    assert answer.status == 202, answer.text
    board = storyboard(world, answer, GarmentStoryboard)
    assert (board.category, board.model.model_id) == (GarmentCategory.DRESS, VERA)
    assert world.objects.get(ObjectKey.parse(board.model.key)) == VERA.encode()


def test_steps_reach_the_engine_in_their_order(world, api, pictures):
    steps = [
        {"tool": "background", "kind": "studio", "color": "#101010"},
        {"tool": "retouch", "teeth": 0.25},
        {"tool": "crop", "shapes": ["4:5", "head"]},
    ]
    answer = api.post("/v1/images", {"image": {"model_id": VERA}, "steps": steps})
    assert answer.status == 202, answer.text
    request = wire.from_values(ImageRequest, world.jobs.get(answer.body["id"]).request)
    assert [type(step) for step in request.steps] == [BackgroundStep, RetouchStep, CropStep]
    board = storyboard(world, answer, ImageStoryboard)
    assert board.steps[0].background.kind is BackgroundKind.STUDIO
    assert board.steps[1] == RetouchStep(teeth=0.25)
    assert board.steps[2].shapes == (CropShape.TALL, CropShape.HEAD)
    assert [shape.role for shape in board.steps[2].shapes] == ["crop_4x5", "crop_head"]


def test_person_of_a_preview_needs_a_consent_or_a_declaration(world, api, wig):
    photo = world.upload()
    refused = api.post("/v1/wig-previews", {**wig, "model": {"upload_id": photo}})
    assert refused.problem == (403, "consent_required", "model.consent_id")
    unsaid = {**wig, "wig": {"upload_id": world.upload()}}
    assert api.post("/v1/wig-previews", unsaid).problem == (403, "consent_required", "wig.consent_id")
    image = {"image": {"upload_id": photo}, "steps": [{"tool": "cutout"}]}
    assert api.post("/v1/images", image).problem == (403, "consent_required", "image.consent_id")


def test_revoked_consent_ends_the_previews_made_under_it(world, api, wig):
    evidence = world.upload("image/png")
    consent = api.post(
        "/v1/consents",
        {"subject": "Zoë", "likenesses": ["face"], "purpose": "campaign", "evidence_upload_id": evidence},
    ).body["id"]
    head = {"upload_id": world.upload(), "consent_id": consent}
    answer = api.post("/v1/wig-previews", {**wig, "wig": head})
    assert answer.status == 202, answer.text
    api.post(f"/v1/consents/{consent}/revoke")
    job = api.get(f"/v1/jobs/{answer.body['id']}").body
    assert (job["state"], job["failure"]["code"]) == ("failed", "consent_revoked")
    assert job["failure"]["param"] == "wig.consent_id"
    assert api.post("/v1/wig-previews", {**wig, "wig": head}).problem[:2] == (403, "consent_revoked")


def test_consent_of_an_avatar_goes_with_it_into_the_preview(world, api, wig):
    made = api.post("/v1/avatars", {"name": "Own", "upload_id": world.upload(), "synthetic": True}).body["id"]
    answer = api.post("/v1/wig-previews", {**wig, "model": {"model_id": made}})
    assert answer.status == 202, answer.text
    assert storyboard(world, answer, WigStoryboard).model.model_id == made


def test_avatar_that_is_a_video_is_no_model(world, api, wig):
    world.avatars.add(
        Avatar(
            id=AVATAR,
            tenant_id=TENANT,
            name="Film",
            kind="video",
            object_key=f"catalogue/{TENANT}/{AVATAR}/0/file.mp4",
            media_type="video/mp4",
            created_at=world.clock.now(),
            synthetic=True,
        )
    )
    refused = api.post("/v1/wig-previews", {**wig, "model": {"model_id": AVATAR}})
    assert refused.problem == (422, "not_a_picture", "model.model_id")


def test_specification_chooses_a_built_in_model_and_the_same_again(world, api, garment, pictures):
    asked = {"model": {"specification": {"gender": "woman", "scene": "studio"}}, "garment": garment["garment"]}
    chosen = []
    for seed in (0, 1, 0):
        answer = api.post("/v1/garment-previews", {**asked, "seed": seed})
        assert answer.status == 202, answer.text
        chosen.append(storyboard(world, answer, GarmentStoryboard).model.model_id)
    assert chosen[0] == chosen[2] != chosen[1]
    poses = {model.id: model.pose for model in world.models.list()}
    assert {poses[model_id] for model_id in chosen} == {Pose.STANDING}


def test_specification_that_no_model_meets_names_what_is_missing_and_who_is_near(api, wig):
    specification = {"age": "60+", "gender": "man", "scene": "home"}
    answer = api.post("/v1/wig-previews", {**wig, "model": {"specification": specification}})
    assert answer.problem == (422, "checkpoint_not_configured", "model.specification")
    detail = answer.body["detail"]
    assert "age 60+" in detail
    assert "gender man" not in detail  # there are men
    assert "(Tom; other age)" in detail


def test_combination_that_nobody_has_is_told_as_one(api, garment):
    specification = {"gender": "man", "scene": "park"}
    answer = api.post("/v1/garment-previews", {**garment, "model": {"specification": specification}})
    assert answer.problem == (422, "checkpoint_not_configured", "model.specification")
    assert "gender man and scene park at once" in answer.body["detail"]


def test_child_cannot_be_asked_for(api, wig):
    answer = api.post("/v1/wig-previews", {**wig, "model": {"specification": {"age": "6-12"}}})
    assert answer.problem == (400, "invalid_request", "model.specification.age")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"yaw_deg": []}, (400, "invalid_request", "yaw_deg")),
        ({"yaw_deg": [60]}, (400, "invalid_request", "yaw_deg.0")),
        ({"yaw_deg": [10, 10]}, (400, "duplicate_view", "yaw_deg.1")),
        ({"yaw_deg": [0, -0.0]}, (400, "duplicate_view", "yaw_deg.1")),
        ({"yaw_deg": [12.3456781, 20, 12.3456789]}, (400, "duplicate_view", "yaw_deg.2")),
        ({"yaw_deg": [0.001, 0]}, (400, "duplicate_view", "yaw_deg.1")),
        ({"colours": ["mauve"]}, (400, "colour_unknown", "colours.0")),
        ({"colours": ["#12345"]}, (400, "malformed_color", "colours.0")),
        ({"colours": ["red", "red"]}, (400, "duplicate_colour", "colours.1")),
        ({"colours": ["#a52a2a", "red", "#A52A2A"]}, (400, "duplicate_colour", "colours.2")),
        ({"refine": True}, (422, "checkpoint_not_configured", "refine")),
        ({"model": {}}, (400, "exactly_one", "model")),
        ({"model": {"model_id": VERA, "specification": {}}}, (400, "exactly_one", "model")),
        ({"model": {"model_id": VERA[:-1] + "0"}}, (422, "model_not_found", "model.model_id")),
        ({"wig": {"synthetic": True}}, (400, "exactly_one", "wig")),
        ({"wig": {"pins": {"chin": [0.5, 0.5]}}}, (400, "exactly_one", "wig")),
        (
            {"wig": {"wig_id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G6", "pins": {"chin": [0.5, 0.5]}}},
            (400, "not_used", "wig.pins"),
        ),
        ({"wig": {"wig_id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G6"}}, (422, "wig_not_found", "wig.wig_id")),
        ({"background": {"kind": "studio", "color": "#fff"}}, (400, "invalid_request", "background.color")),
        ({"background": {"kind": "blur", "color": "#ffffff"}}, (400, "not_used", "background.color")),
        ({"background": {"kind": "image"}}, (400, "missing", "background.upload_id")),
        ({"callback_url": "http://127.0.0.1/hook"}, (422, "callback_url_refused", "callback_url")),
        ({"garment": {}}, (400, "invalid_request", "garment")),
    ],
)
def test_wrong_wig_request_is_refused_by_name(api, wig, change, problem):
    assert api.post("/v1/wig-previews", {**wig, **change}).problem == problem


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], (400, "invalid_request", "steps")),
        ([{"tool": "paint"}], (400, "invalid_request", "steps.0")),
        ([{"tool": "upscale", "factor": 3}], (400, "invalid_request", "steps.0.factor")),
        ([{"tool": "retouch", "skin": 2}], (400, "invalid_request", "steps.0.skin")),
        ([{"tool": "relight", "generative": True}], (422, "checkpoint_not_configured", "steps.0.generative")),
        ([{"tool": "relight", "retouch": 0.5}], (400, "out_of_range", "steps.0.retouch")),
        ([{"tool": "background", "kind": "image"}], (400, "missing", "steps.0.upload_id")),
        ([{"tool": "cutout"}, {"tool": "cutout"}], (400, "duplicate_step", "steps.1.tool")),
        ([{"tool": "crop", "shapes": ["1:1", "1:1"]}], (400, "duplicate_step", "steps.0.shapes")),
        (
            [
                {
                    "tool": "background",
                    "kind": "image",
                    "upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6",
                }
            ],
            (422, "upload_not_found", "steps.0.upload_id"),
        ),
    ],
)
def test_wrong_step_is_refused_by_name(api, steps, problem):
    assert api.post("/v1/images", {"image": {"model_id": VERA}, "steps": steps}).problem == problem


def test_video_has_no_studio(api, video):
    answer = api.post("/v1/videos", {**video, "background": {"kind": "studio"}})
    assert answer.problem == (400, "invalid_request", "background.kind")


def test_hair_colours_are_those_of_the_engine():
    assert set(HAIR_COLOURS) == set(NAMED)


def test_repeated_request_makes_one_job(world, api, wig):
    headers = {"idempotency-key": "a"}
    first = api.post("/v1/wig-previews", wig, headers=headers)
    again = api.post("/v1/wig-previews", wig, headers=headers)
    assert (again.status, again.body, again.headers["idempotent-replayed"]) == (202, first.body, "true")
    assert len(world.jobs.list(TENANT).items) == 1


def test_models_are_listed_as_they_look(world, api):
    answer = api.get("/v1/models")
    assert answer.status == 200
    ModelsBody.model_validate(answer.body)
    models = answer.body["items"]
    assert len(models) == len(world.models.list()) == 10
    assert all(model["licence"].startswith("MIT") for model in models)
    assert {model["pose"] for model in models} == {"portrait", "standing", "walking"}


@pytest.mark.parametrize(
    ("kind", "extra", "quantities", "amount"),
    [
        ("wig_preview", {"yaw_deg": [-10, 0, 10], "colours": ["red"]}, {"pictures": 4.0}, 0.016),
        ("wig_preview", {"turntable": True}, {"pictures": 1.0, "turntables": 1.0}, 0.014),
        ("wig_preview", {"yaw_deg": [10]}, {"pictures": 2.0}, 0.008),  # the front is made, too
        ("wig_preview", {"yaw_deg": [12.5, -12.5, 0.33]}, {"pictures": 4.0}, 0.016),
        ("wig_preview", {"yaw_deg": [0.001]}, {"pictures": 1.0}, 0.004),  # which is the front
        (
            "wig_preview",
            {"yaw_deg": [10], "colours": ["#A52A2A"], "turntable": True},
            {"pictures": 3.0, "turntables": 1.0},
            0.022,
        ),
        ("garment_preview", {}, {"pictures": 1.0}, 0.004),
    ],
)
def test_preview_is_estimated_by_its_pictures(api, wig, garment, kind, extra, quantities, amount):
    body = {**(wig if kind == "wig_preview" else garment), **extra}
    answer = api.post("/v1/estimates", {"kind": kind, "body": body})
    assert answer.status == 200, answer.text
    assert (answer.body["kind"], answer.body["quantities"]) == (kind, quantities)
    assert answer.body["cost"] == {"amount": amount, "currency": "USD"}


def test_image_is_estimated_by_its_crops_and_refused_as_itself(api):
    body = {"image": {"model_id": VERA}, "steps": [{"tool": "crop", "shapes": ["1:1", "4:5"]}]}
    assert api.post("/v1/estimates", {"kind": "image", "body": body}).body["quantities"] == {"pictures": 3.0}
    wrong = {**body, "steps": [{"tool": "upscale", "factor": 5}]}
    refused = api.post("/v1/estimates", {"kind": "image", "body": wrong}).problem
    assert refused == (400, "invalid_request", "body.steps.0.factor")
    other = {"kind": "garment_preview", "body": body}
    assert api.post("/v1/estimates", other).problem[1] == "invalid_request"


def test_previews_take_nothing_of_the_month_of_video(world, api, wig):
    tenant = world.tenants.get(TENANT)
    from dataclasses import replace

    world.tenants.update(replace(tenant, monthly_output_s=0.001))
    assert api.post("/v1/wig-previews", wig).status == 202
    request = wire.from_values(WigPreviewRequest, world.jobs.list(TENANT).items[0].request)
    assert request.yaw_deg == (0.0,)
