"""The request field ``disclosure``."""

from __future__ import annotations

import json

import pytest

from services.domain import wire
from services.domain.object_key import ObjectKey
from services.domain.storyboard import Storyboard
from services.domain.video import Disclosure, LabelCorner, VideoRequest
from tests.fakes.world import TENANT


def uploaded(world) -> dict[str, object]:
    """A presenter whose picture is in the store."""
    return {"upload_id": world.upload("image/png", b"\x89PNG\r\n\x1a\n"), "synthetic": True}


def disclosure_of(world, answer) -> Disclosure:
    assert answer.status == 202, answer.body
    return wire.from_values(VideoRequest, world.jobs.get(answer.body["id"]).request).disclosure


def acts(world) -> list[str]:
    return [entry.action for entry in world.audit.entries if entry.action.startswith("label.")]


def test_film_is_labelled_unless_asked_otherwise(world, api, video):
    assert disclosure_of(world, api.post("/v1/videos", video)) == Disclosure(visible_label=True, corner=None)
    assert acts(world) == []


@pytest.mark.parametrize("corner", LabelCorner)
def test_corner_reaches_the_storyboard(world, api, video, corner):
    answer = api.post("/v1/videos", {**video, "presenter": uploaded(world), "disclosure": {"corner": corner.value}})
    assert disclosure_of(world, answer).corner is corner
    job = world.prepare(answer.body["id"])
    storyboard = wire.decode(Storyboard, world.objects.get(ObjectKey.parse(job.storyboard_key)))
    assert storyboard.disclosure == Disclosure(corner=corner)


def test_turning_the_label_off_is_kept_in_the_audit_log(world, api, video):
    answer = api.post("/v1/videos", {**video, "disclosure": {"visible_label": False}})
    assert disclosure_of(world, answer).visible_label is False
    (entry,) = [entry for entry in world.audit.entries if entry.action == "label.turned_off"]
    assert (entry.tenant_id, entry.target) == (TENANT, answer.body["id"])
    assert entry.actor.startswith("key_")


@pytest.mark.parametrize(
    "disclosure",
    [
        {"corner": "middle"},
        {"visible_label": "perhaps"},
        {"visible_label": None},
        {"metadata_label": False},  # there is no such switch
        {"content_credentials": False},
        [],
        "none",
    ],
)
def test_anything_else_is_refused_by_its_name(world, api, video, disclosure):
    answer = api.post("/v1/videos", {**video, "disclosure": disclosure})
    assert answer.status == 400
    assert all(error["param"].startswith("disclosure") for error in answer.body["errors"])
    assert acts(world) == []


def test_storyboard_of_an_older_version_is_labelled(world, api, video):
    """One that was stored before this field existed."""
    job = world.prepare(api.post("/v1/videos", {**video, "presenter": uploaded(world)}).body["id"])
    values = json.loads(world.objects.get(ObjectKey.parse(job.storyboard_key)))
    del values["disclosure"]
    assert wire.from_values(Storyboard, values).disclosure.visible_label
