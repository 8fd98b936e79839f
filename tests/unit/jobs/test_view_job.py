"""What clients see of a job."""

from __future__ import annotations

from services.usecases.view_job import view_job
from tests.fakes.world import CALLBACK_URL, TENANT


def view(world, job, **more):
    return view_job(job, objects=world.objects, link_lifetime_s=600, **more)


def test_succeeded_job_shows_links_and_facts_and_no_keys(world):
    job = world.start(callback_url=CALLBACK_URL)
    world.clock.advance(2)
    done = world.complete(world.answer(job))
    shown = view(world, done)
    assert shown["id"] == job.id
    assert (shown["kind"], shown["state"], shown["attempt"]) == ("noop", "succeeded", 1)
    assert shown["progress"] == {"stage": "succeeded", "fraction": 1.0}
    assert (shown["created_at"], shown["finished_at"]) == ("2026-03-01T12:00:00.000Z", "2026-03-01T12:00:02.000Z")
    assert shown["callback_id"] == "mine-1"
    assert shown["failure"] is None
    [output] = shown["result"]["outputs"]
    assert output["url"].endswith(f"?filename={job.id}-result.json&expires_in_s=600")
    assert (output["name"], output["media_type"], output["size_bytes"]) == ("result", "application/json", 6)
    assert shown["result"]["facts"] == {"duration_s": 1.5}
    assert "key" not in output
    assert TENANT not in str({**shown, "result": None})


def test_failed_job_says_why(world):
    job = world.start()
    shown = view(world, world.complete(world.failed(job, retryable=False)))
    assert (shown["state"], shown["result"]) == ("failed", None)
    assert shown["failure"] == {"code": "face_not_found", "detail": "No face.", "param": None, "retryable": False}


def test_queued_job_has_no_end(world):
    shown = view(world, world.submit())
    assert (shown["state"], shown["finished_at"], shown["attempt"]) == ("queued", None, 0)
    assert shown["progress"] == {"stage": "queued", "fraction": 0.0}


def test_delivery_log_is_shown_when_asked_for(world):
    job = world.start(callback_url=CALLBACK_URL)
    world.complete(world.answer(job))
    world.sender.answers = [503]
    done = world.notify(job.id)
    [delivery] = view(world, done, deliveries=world.deliveries.list(job.id))["deliveries"]
    assert (delivery["status"], delivery["at"]) == (503, "2026-03-01T12:00:00.000Z")
    assert "deliveries" not in view(world, done)
