"""POST /v1/uploads."""

from __future__ import annotations

import pytest

from lambdas.api.schemas.uploads import UploadBody
from services.settings import Settings
from tests.fakes.world import OTHER_TENANT, TENANT


def body(**changes):
    return {"file_name": "portrait.png", "media_type": "image/png", "size_bytes": 1000, **changes}


@pytest.mark.parametrize(
    "file_name",
    [
        "portrait.png",
        "小明的照片.png",
        'my "best" photo\'s.png',
        "a b;rm -rf $HOME`id`.png",
        "../../etc/passwd",
        "🎬.png",
        "\u0000\n",
    ],
)
def test_any_file_name_works_and_stays_out_of_the_key(world, api, file_name):
    answer = api.post("/v1/uploads", body(file_name=file_name))
    assert answer.status == 201
    UploadBody.model_validate(answer.body)
    assert answer.body["file_name"] == file_name
    stored = world.uploads.get(TENANT, answer.body["id"])
    assert stored.file_name == file_name
    assert stored.object_key == f"upload/{TENANT}/{stored.id}/0/file.png"


def test_signed_request_is_for_exactly_this_file(api):
    request = api.post("/v1/uploads", body()).body["request"]
    assert (request["method"], request["headers"]) == ("PUT", {"Content-Type": "image/png", "Content-Length": "1000"})


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("image/jpg", "image/jpeg"),
        ("audio/x-wav", "audio/wav"),
        ("Audio/MP3", "audio/mpeg"),
        ("audio/ogg; codecs=opus", "audio/ogg"),
    ],
)
def test_usual_spellings_of_media_types_are_understood(api, given, stored):
    answer = api.post("/v1/uploads", body(media_type=given))
    assert (answer.status, answer.body["media_type"]) == (201, stored)
    assert answer.body["request"]["headers"]["Content-Type"] == stored


@pytest.mark.parametrize(
    "media_type", ["text/html", "image/svg+xml", "application/zip", "application/x-msdownload", "???"]
)
def test_other_media_types_are_refused(api, media_type):
    answer = api.post("/v1/uploads", body(media_type=media_type))
    assert answer.problem == (415, "unsupported_media_type", "media_type")
    assert "image/png" in answer.body["detail"]


def test_file_over_the_limit_is_refused_with_both_sizes(api):
    limit = Settings().max_upload_bytes
    answer = api.post("/v1/uploads", body(size_bytes=limit + 1))
    assert answer.problem == (413, "upload_too_large", "size_bytes")
    assert str(limit) in answer.body["detail"]
    assert str(limit + 1) in answer.body["detail"]
    assert api.post("/v1/uploads", body(size_bytes=limit)).status == 201


def test_empty_file_is_refused(api):
    assert api.post("/v1/uploads", body(size_bytes=0)).problem == (422, "empty_file", "size_bytes")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"file_name": ""}, "file_name"),
        ({"file_name": "x" * 256}, "file_name"),
        ({"size_bytes": "10"}, "size_bytes"),
        ({"size_bytes": 1.5}, "size_bytes"),
        ({"size_bytes": True}, "size_bytes"),
        ({"tenant_id": OTHER_TENANT}, "tenant_id"),
    ],
)
def test_malformed_request_names_the_field(api, change, param):
    assert api.post("/v1/uploads", body(**change)).problem == (400, "invalid_request", param)


@pytest.mark.parametrize("place", ["presenter", "background", "avatar"])
def test_huge_picture_of_few_bytes_is_refused_when_it_is_named(world, api, video, place):
    bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    upload_id = world.upload("image/png", bomb)
    if place == "avatar":
        answer = api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True})
    elif place == "presenter":
        answer = api.post("/v1/videos", {**video, "presenter": {"upload_id": upload_id, "synthetic": True}})
    else:
        answer = api.post("/v1/videos", {**video, "background": {"kind": "image", "upload_id": upload_id}})
    assert answer.problem[:2] == (422, "picture_too_large")
    assert "60000x60000" in answer.body["detail"]


def header(width, height):
    return (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0...."
    )


@pytest.mark.parametrize(
    ("media_type", "data", "code", "told"),
    [
        ("image/jpeg", b"\xff\xd8\xff\xe1\x40\0Exif" + bytes(290), "unreadable_media", "is cut off"),
        ("image/jpeg", b"\xff\xd8\xff\xda\0\x02" + b"scan" * 500, "unreadable_media", "is cut off"),
        ("image/png", header(64, 64) + b"\0\0\x10\0IDAT" + b"x" * 500, "unreadable_media", "is cut off"),
        ("image/png", header(0, 0) + b"\0\0\0\0IEND....", "unreadable_media", "0x0 pixels"),
        ("image/png", header(64_000_000, 1) + b"\0\0\0\0IEND....", "picture_too_large", "65,535 a side"),
    ],
    ids=["JPEG of 300 bytes", "JPEG without its end", "PNG without its end", "no pixels", "one line of pixels"],
)
def test_picture_that_no_video_could_show_becomes_no_avatar(world, api, media_type, data, code, told):
    upload_id = world.upload(media_type, data)
    answer = api.post("/v1/avatars", {"name": "x", "upload_id": upload_id, "synthetic": True})
    assert answer.problem == (422, code, "upload_id")
    assert told in answer.body["detail"]
    assert not [avatar for avatar in api.get("/v1/avatars").body["items"] if not avatar["built_in"]]
