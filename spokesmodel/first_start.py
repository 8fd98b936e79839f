"""What a new state folder gets: the built-in presenters and models, a tenant, and its API key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models import weights
from services.adapters.built_in_models import built_in_models
from services.bootstrap import Services
from services.domain.errors import NotFound
from services.domain.object_key import SHARED, ObjectKey, Retention
from services.ports.catalogue import Avatar
from services.usecases.manage_keys import create_tenant, issue_key, serves, sha256_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInAvatar:
    """A picture of the weights manifest; the id is the same on every machine."""

    id: str
    name: str
    weights_name: str


BUILT_IN_AVATARS: Final = (
    BuiltInAvatar(id="avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4", name="Vera", weights_name="avatar-vera"),
    BuiltInAvatar(id="avatar_01M8PBZJY0G2HC7X6V5HT6Q7K5", name="Tom", weights_name="avatar-tom"),
    BuiltInAvatar(id="avatar_01M8PBZJY0G2HC7X6V5HT6Q7K6", name="Max", weights_name="avatar-max"),
    BuiltInAvatar(id="avatar_01M8PBZJY0G2HC7X6V5HT6Q7K7", name="Ellen", weights_name="avatar-ellen"),
)


def install_avatars(services: Services) -> int:
    """Put the built-in presenters whose pictures are here into store and catalogue, once; how many there are then."""
    num_present = 0
    for avatar in BUILT_IN_AVATARS:
        if not weights.is_present(avatar.weights_name):
            continue
        num_present += 1
        picture = weights.path(avatar.weights_name)
        key = ObjectKey(
            retention=Retention.CATALOGUE,
            tenant_id=SHARED,
            owner_id=avatar.id,
            attempt=0,
            name=f"picture{picture.suffix.lower()}",
        )
        if not services.objects.exists(key):
            services.objects.put_file(key, picture, media_type="image/jpeg")
        try:
            services.avatars.get(SHARED, avatar.id)
        except NotFound:
            file = weights.manifest()[avatar.weights_name]
            services.avatars.add(
                Avatar(
                    id=avatar.id,
                    tenant_id=None,
                    name=avatar.name,
                    kind="picture",
                    object_key=str(key),
                    media_type="image/jpeg",
                    created_at=services.clock.now(),
                    licence=f"{file.licence} ({file.source})",
                )
            )
    return num_present


def install_models(services: Services) -> int:
    """Put the pictures of the built-in models that are here into the store, once; how many there are then.

    The catalogue itself is data that comes along.
    """
    present = [one for one in built_in_models() if weights.is_present(one.picture)]
    for one in present:
        key = ObjectKey.parse(one.model.object_key)
        if not services.objects.exists(key):
            services.objects.put_file(key, weights.path(one.picture), media_type=one.model.media_type)
    return len(present)


def first_key(services: Services, path: Path) -> tuple[str, bool]:
    """The API key that is kept at ``path``, and whether it is new: the first gets a tenant, later ones keep it."""
    try:
        secret = path.read_text().strip()
    except FileNotFoundError:
        secret = ""
    key = services.tenants.find_key(sha256_of(secret)) if secret else None
    if key is not None and serves(key, services.clock.now()):
        return secret, False
    if key is not None:  # revoked or expired: whoever owns the folder goes on with its tenant
        tenant_id = key.tenant_id
    else:
        tenant_id = create_tenant("local", tenants=services.tenants, audit=services.audit, clock=services.clock).id
    issued = issue_key(tenant_id, tenants=services.tenants, audit=services.audit, clock=services.clock)
    write_private(path, issued.secret + "\n")
    return issued.secret, True


def write_private(path: Path, text: str) -> None:
    """``text`` at ``path``, readable by the user alone, in place in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
