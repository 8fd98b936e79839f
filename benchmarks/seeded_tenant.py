"""A tenant with one of everything, and requests of each operation that can succeed with what it has.

Of random words and ids hardly one request becomes a job. Here a request that the document permits gets ids that exist,
files whose bytes were sent and bodies that mean something; what answers tell is there for the requests after it.
"""

from __future__ import annotations

import io
import json
import random
import wave
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import cv2
import numpy as np
import requests

from services.adapters.built_in_models import built_in_models
from services.bootstrap import Services
from services.usecases.manage_keys import create_tenant, issue_key
from spokesmodel.first_start import BUILT_IN_AVATARS

CHANCE: Final = random.Random()  # Hypothesis seeds the shared one alike for every sequence
_MAX_KEPT: Final = 60  # of a kind: the newest; older ones go on to exist
_FORGOTTEN: Final = 0.7  # of what was deleted; the rest is asked for again
_TIMEOUT_S: Final = 30.0
_VOICE: Final = {"voice_id": "en-us"}
_ID_OF: Final = {  # the kind of thing that an operation's answer is
    **dict.fromkeys(("createVideo", "createWigPreview", "createGarmentPreview", "createImage"), "job_id"),
    "createWig": "wig_id",
    "createGarment": "garment_id",
    "createBatch": "batch_id",
    "createAvatar": "avatar_id",
    "createConsent": "consent_id",
}
_DELETES: Final = {
    "deleteJob": "job_id",
    "deleteBatch": "batch_id",
    "deleteAvatar": "avatar_id",
    "deleteWig": "wig_id",
    "deleteGarment": "garment_id",
    "revokeConsent": "consent_id",
    "deleteSubject": "subject",
    "revokeKey": "key_id",
}


def _sound() -> bytes:
    with io.BytesIO() as file:
        with wave.open(file, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(16_000)
            sound.writeframes(bytes(32_000))
        return file.getvalue()


_FILES: Final[dict[str, tuple[str, bytes]]] = {
    "picture": ("image/jpeg", cv2.imencode(".jpg", np.full((256, 256, 3), 128, np.uint8))[1].tobytes()),
    "sound": ("audio/wav", _sound()),
    "evidence": ("application/pdf", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"),
    "table": ("text/csv", b"id,speech.text\n" + b"".join(b"row-%d,Number %d.\n" % (n, n) for n in range(40))),
    "lines": ("application/jsonl", b'{"speech": {"text": "One."}}\n{"speech": {"text": ""}}\n' * 5),
}


class SeededTenant:
    """A tenant, its key, what it has by kind, and what has become of its requests."""

    def __init__(self, url: str, services: Services, *, callback_url: str) -> None:
        self._url = url
        self._services = services
        self._callback_url = callback_url
        self._kept: dict[str, list[str]] = defaultdict(list)
        self._parts = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
        self._tenant = create_tenant("Acme", **self._parts)  # type: ignore[arg-type]
        self._session = requests.Session()
        self.secret = ""
        self.renew_key()
        for kind in _FILES:
            self._upload(kind)
        for operation in ("createConsent", "createAvatar", "createWig", "createGarment", "createVideo", "createBatch"):
            self._create(operation)

    def renew_key(self) -> None:
        """Take another key; for when the one in use was revoked, by its own request."""
        self.secret = issue_key(self._tenant.id, **self._parts).secret  # type: ignore[arg-type]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def aim(self, case: Any) -> None:
        """Give the request ids that exist and a body that means something."""
        operation = case.operation.definition.raw["operationId"]
        for name in list(case.path_parameters or {}):
            case.path_parameters[name] = self._some(name) or case.path_parameters[name]
        cursor = self._some(f"cursor of {operation}")
        query = {name: value for name, value in (case.query or {}).items() if name != "cursor"}
        case.query = query if cursor is None else {**query, "cursor": cursor}
        make = self._bodies.get(operation)
        if make is not None:
            case.body = make(self)
            case.media_type = "application/json"
        if operation == "createUpload":
            case.headers.pop("Idempotency-Key", None)

    def learn(self, case: Any, response: Any) -> None:
        """Keep what the answer names, and send the bytes that it permits."""
        operation = case.operation.definition.raw["operationId"]
        if not 200 <= response.status_code < 300:
            return
        if operation in _DELETES:
            kind = _DELETES[operation]
            gone = (case.path_parameters or {}).get(kind)
            if gone in self._kept[kind] and CHANCE.random() < _FORGOTTEN:
                self._kept[kind].remove(gone)
            if operation == "deleteSubject":  # and with them the files that showed them
                for shown in ("picture", "sound", "evidence"):
                    self._kept[shown].clear()
                    self._upload(shown)
            return
        answer = response.json() if response.content else {}
        if answer.get("next_cursor"):
            self._keep(f"cursor of {operation}", answer["next_cursor"])
        if operation in _ID_OF:
            self._keep(_ID_OF[operation], answer["id"])
        elif operation in ("createKey", "rotateKey"):
            self._keep("key_id", answer["key"]["id"])
        elif operation == "createUpload":
            self._send(answer)
        if operation == "createConsent":
            self._keep("subject", answer["subject"])

    def _keep(self, kind: str, value: str) -> None:
        kept = self._kept[kind]
        kept.append(value)
        del kept[:-_MAX_KEPT]

    def _some(self, kind: str) -> str | None:
        kept = self._kept[kind]  # rather a new one, which has not ended yet
        return kept[-1 - int(len(kept) * CHANCE.random() ** 2)] if kept else None

    def _create(self, operation: str) -> None:
        path = {"createVideo": "videos"}.get(operation, operation.removeprefix("create").lower() + "s")
        path = path.replace("batchs", "batches")
        body = json.dumps(self._bodies[operation](self))
        done = self._session.post(f"{self._url}/v1/{path}", data=body, headers=self.headers, timeout=_TIMEOUT_S)
        if not done.ok:  # such as a film of somebody who allowed the voice only
            return
        self._keep(_ID_OF[operation], done.json()["id"])
        if operation == "createConsent":
            self._keep("subject", done.json()["subject"])

    def _upload(self, kind: str) -> None:
        media_type, data = _FILES[kind]
        body: Any = {"file_name": kind, "media_type": media_type, "size_bytes": len(data)}
        done = self._session.post(f"{self._url}/v1/uploads", json=body, headers=self.headers, timeout=_TIMEOUT_S)
        done.raise_for_status()
        self._send(done.json())

    def _send(self, upload: dict[str, Any]) -> None:
        for kind, (media_type, data) in _FILES.items():
            if (upload["media_type"], upload["size_bytes"]) == (media_type, len(data)):
                signed = upload["request"]
                sent = self._session.request(
                    signed["method"], signed["url"], data=data, headers=signed["headers"], timeout=_TIMEOUT_S
                )
                sent.raise_for_status()
                self._keep(kind, upload["id"])

    def _upload_body(self) -> dict[str, Any]:
        kind = CHANCE.choice(list(_FILES))
        media_type, data = _FILES[kind]
        return {"file_name": f"{kind} 小", "media_type": media_type, "size_bytes": len(data)}

    def _consent_body(self) -> dict[str, Any]:
        until = datetime.now(UTC) + timedelta(days=CHANCE.randint(1, 900))
        return {
            "subject": f"person {CHANCE.randint(0, 30)}",
            "likenesses": CHANCE.choice([["face"], ["voice"], ["face", "voice"]]),
            "purpose": "Films of the spring campaign",
            "evidence_upload_id": self._some("evidence"),
            **CHANCE.choice([{}, {"expires_at": until.isoformat()}]),
        }

    def _allowed(self) -> dict[str, Any]:
        consent = self._some("consent_id")
        return {"consent_id": consent} if consent and CHANCE.random() < 0.5 else {"synthetic": True}

    def _avatar_body(self) -> dict[str, Any]:
        return {"name": "Vera", "upload_id": self._some("picture"), **self._allowed()}

    def _video_body(self) -> dict[str, Any]:
        own = {"upload_id": self._some("picture"), **self._allowed()}
        avatars = [BUILT_IN_AVATARS[0].id, self._some("avatar_id") or BUILT_IN_AVATARS[1].id]
        speech = [
            {"text": "Meet the Aurora.", "voice": {**_VOICE, "speed": CHANCE.uniform(0.5, 2)}},
            {"brief": self._brief(), "voice": _VOICE},
            {"audio_upload_id": self._some("sound"), "transcript": "Nothing is said.", "language": "en-US"},
        ]
        backgrounds: list[dict[str, Any]] = [
            {},
            {"background": {"kind": "blur"}},
            {"background": {"kind": "color", "color": "#f4f1ea"}},
            {"background": {"kind": "image", "upload_id": self._some("picture")}},
        ]
        told = {"callback_url": self._callback_url, "callback_id": "campaign-42"}
        return {
            "presenter": CHANCE.choice([own, {"avatar_id": CHANCE.choice(avatars)}]),
            "speech": CHANCE.choice(speech),
            "frame": {"aspect": CHANCE.choice(["9:16", "1:1", "4:5", "16:9", "source"])},
            "subtitles": CHANCE.choice(["burn", "file", "none"]),
            "disclosure": {"visible_label": CHANCE.random() < 0.8},
            "seed": CHANCE.randint(0, 2**53 - 1),
            **CHANCE.choice(backgrounds),
            **CHANCE.choice([{}, told]),
        }

    def _product_body(self) -> dict[str, Any]:
        return {"sku": "A-1", "photos": {"front": {"upload_id": self._some("picture")}}, **self._allowed()}

    def _model(self) -> dict[str, Any]:
        own = {"upload_id": self._some("picture"), **self._allowed()}
        chosen = {"specification": CHANCE.choice([{}, {"gender": "man"}, {"scene": "studio"}, {"age": "60+"}])}
        return CHANCE.choice([own, chosen, {"model_id": built_in_models()[0].model.id}])

    def _preview_body(self, kind: str) -> dict[str, Any]:
        photo = {"upload_id": self._some("picture"), **self._allowed()}
        kept = {f"{kind}_id": self._some(f"{kind}_id") or f"{kind}_{'0' * 26}"}
        return {"model": self._model(), kind: CHANCE.choice([photo, photo, kept]), "seed": CHANCE.randint(0, 9)}

    def _wig_preview_body(self) -> dict[str, Any]:
        return {**self._preview_body("wig"), "yaw_deg": CHANCE.choice([[0], [-20.5, 20]]), "colours": ["auburn"]}

    def _garment_preview_body(self) -> dict[str, Any]:
        return self._preview_body("garment")

    def _image_body(self) -> dict[str, Any]:
        own = {"upload_id": self._some("picture"), **self._allowed()}
        steps = [{"tool": "background", "kind": "studio"}, {"tool": "cutout"}, {"tool": "crop", "shapes": ["4:5"]}]
        return {"image": own, "steps": CHANCE.sample(steps, CHANCE.randint(1, 3))}

    def _batch_body(self) -> dict[str, Any]:
        defaults = {"presenter": {"avatar_id": BUILT_IN_AVATARS[0].id}, "speech": {"voice": _VOICE}}
        rows = [{"id": f"row-{n}", "speech": {"text": f"Number {n}."}} for n in range(CHANCE.randint(1, 30))]
        bad = [*rows, {"speech": {"text": ""}}]
        kinds: list[dict[str, Any]] = [
            {"rows": rows},
            {"rows": bad},
            {"upload_id": self._some("table")},
            {"upload_id": self._some("lines")},
        ]
        return {
            "defaults": defaults,
            "name": "Spring",
            "dry_run": CHANCE.random() < 0.1,
            "on_invalid": CHANCE.choice(["skip", "skip", "reject"]),
            **CHANCE.choice(kinds),
            **CHANCE.choice([{}, {"callback_url": self._callback_url}]),
        }

    def _brief(self) -> dict[str, Any]:
        facts = {"benefits": ["weighs only 190 grams", "grips on wet streets"], "offer": "20 % off this week"}
        return {
            "product": "Aurora running shoe",
            "language": CHANCE.choice(["en-US", "en-US", "en-US", "de"]),
            "duration_s": CHANCE.randint(5, 60),
            **CHANCE.choice([{}, facts]),
        }

    def _script_body(self) -> dict[str, Any]:
        return {"brief": self._brief()}

    def _estimate_body(self) -> dict[str, Any]:
        makers = {"video": self._video_body, "wig_preview": self._wig_preview_body, "image": self._image_body}
        kind = CHANCE.choice(list(makers))
        return {"kind": kind, "body": makers[kind]()}

    def _key_body(self) -> dict[str, Any]:
        return {"name": "dashboard", "scopes": CHANCE.choice([["read"], ["read", "create"], ["manage"]])}

    def _rotation_body(self) -> dict[str, Any]:
        return {"grace_s": CHANCE.choice([0, 3600])}

    _bodies: Final[dict[str, Callable[[SeededTenant], dict[str, Any]]]] = {
        "createUpload": _upload_body,
        "createConsent": _consent_body,
        "createAvatar": _avatar_body,
        "createVideo": _video_body,
        "createWig": _product_body,
        "createGarment": _product_body,
        "createWigPreview": _wig_preview_body,
        "createGarmentPreview": _garment_preview_body,
        "createImage": _image_body,
        "createBatch": _batch_body,
        "createScript": _script_body,
        "createEstimate": _estimate_body,
        "createKey": _key_body,
        "rotateKey": _rotation_body,
    }
