"""Avatars, voices, languages."""

from __future__ import annotations

import pytest

from lambdas.api.routes.catalogue import AvatarsBody
from lambdas.api.schemas.catalogue import AvatarBody, LanguagesBody, VoicesBody
from tests.fakes.world import STARTS, TENANT
from tests.handlers.api.conftest import AVATAR_ID


def test_upload_becomes_an_avatar_with_its_own_copy(world, api):
    upload_id = world.upload("image/png")
    answer = api.post("/v1/avatars", {"name": "小明", "upload_id": upload_id, "synthetic": True})
    assert answer.status == 201
    AvatarBody.model_validate(answer.body)
    avatar_id = answer.body["id"]
    assert answer.headers["location"] == f"/v1/avatars/{avatar_id}"
    assert (answer.body["name"], answer.body["kind"], answer.body["built_in"]) == ("小明", "picture", False)
    world.objects.delete_owner(TENANT, upload_id)
    assert [key for key in world.objects.stored_keys() if avatar_id in key]


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        ("audio/wav", STARTS["audio/wav"], "not_a_picture_or_video"),
        ("image/png", None, "upload_incomplete"),
        ("image/png", b"", "empty_file"),
        ("image/png", b"plain words", "unsupported_media"),
        ("image/jpeg", STARTS["video/mp4"], "unsupported_media"),
        ("video/mp4", STARTS["image/png"], "unsupported_media"),
        ("video/mp4", b"%PDF-1.7", "unsupported_media"),
    ],
)
def test_upload_that_cannot_be_an_avatar_is_refused(world, api, media_type, data, code):
    upload_id = world.upload(media_type, data)
    assert api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True}).problem == (
        422,
        code,
        "upload_id",
    )


@pytest.mark.parametrize("name", ["Vera\x1b[2J", "Vera\nTom", "Vera\x00", "Ve\tra", "\x9bVera", "Vera\u2028Tom"])
def test_avatar_with_a_control_character_in_its_name_is_refused(world, api, name):
    answer = api.post("/v1/avatars", {"name": name, "upload_id": world.upload(), "synthetic": True})
    assert answer.problem == (422, "control_character", "name")
    assert len(api.get("/v1/avatars").body["items"]) == 1


def test_picture_of_another_format_than_announced_is_still_a_picture(world, api):
    upload_id = world.upload("image/png", STARTS["image/webp"])
    assert api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True}).status == 201


def test_upload_of_another_tenant_cannot_become_an_avatar(world, other_api):
    upload_id = world.upload()
    answer = other_api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True})
    assert answer.problem == (422, "upload_not_found", "upload_id")


def test_avatars_of_others_do_not_exist(world, api, other_api):
    made = api.post("/v1/avatars", {"name": "x", "upload_id": world.upload(), "synthetic": True}).body
    assert {one["id"] for one in api.get("/v1/avatars").body["items"]} == {made["id"], AVATAR_ID}
    assert {one["id"] for one in other_api.get("/v1/avatars").body["items"]} == {AVATAR_ID}
    assert other_api.get(f"/v1/avatars/{made['id']}").problem == (404, "avatar_not_found", None)
    assert other_api.delete(f"/v1/avatars/{made['id']}").problem == (404, "avatar_not_found", None)
    assert api.get(f"/v1/avatars/{made['id']}").status == 200


def test_deleted_avatar_is_gone_with_its_file(world, api):
    made = api.post("/v1/avatars", {"name": "x", "upload_id": world.upload(), "synthetic": True}).body
    assert api.delete(f"/v1/avatars/{made['id']}").status == 204
    assert api.get(f"/v1/avatars/{made['id']}").status == 404
    assert not [key for key in world.objects.stored_keys() if made["id"] in key]


def test_built_in_avatar_is_read_but_not_deleted(api):
    body = api.get(f"/v1/avatars/{AVATAR_ID}").body
    AvatarBody.model_validate(body)
    assert (body["built_in"], body["licence"]) == (True, "MIT")
    assert api.delete(f"/v1/avatars/{AVATAR_ID}").problem == (403, "avatar_built_in", None)


def test_avatars_page(world, api):
    for _ in range(3):
        api.post("/v1/avatars", {"name": "x", "upload_id": world.upload(), "synthetic": True})
    first = api.get("/v1/avatars?limit=3").body
    AvatarsBody.model_validate(first)
    second = api.get(f"/v1/avatars?limit=3&cursor={first['next_cursor']}").body
    assert (len(first["items"]), len(second["items"]), second["next_cursor"]) == (3, 1, None)


def test_voices_are_listed_by_language(api):
    VoicesBody.model_validate(api.get("/v1/voices").body)
    assert [one["id"] for one in api.get("/v1/voices?language=en").body["items"]] == ["en-us"]
    assert api.get("/v1/voices?language=fr").body["items"] == []


def test_languages_are_listed(api):
    body = api.get("/v1/languages").body
    LanguagesBody.model_validate(body)
    assert [one["tag"] for one in body["items"]] == ["en-US"]
