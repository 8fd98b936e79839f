"""Option values that name who wears a product, the product, what is behind, and points set by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.errors import InvalidRequest
from services.domain.product import ProductKind
from spokesmodel.cli.texts import existing_file, is_file

if TYPE_CHECKING:
    from spokesmodel.client import Client

_NAMED_BACKGROUNDS: Final = ("original", "blur", "studio")
_TRAITS: Final = ("age", "gender", "skin_tone", "body", "pose", "scene")
_MODELS_SHOWN: Final = 12
_AVATAR: Final = "avatar-"  # as `video` takes them: avatar-vera

Likes = Annotated[
    list[str] | None,
    typer.Option(
        "--like",
        metavar="TRAIT=VALUE",
        help="A model of `spokesmodel models` that is like this, in place of a photo; repeatable: age=30-44, "
        "gender=woman, skin_tone=6-9, body=average, pose=portrait, scene=studio.",
    ),
]
ConsentOption = Annotated[
    str | None,
    typer.Option("--consent", metavar="ID", help="The consent of the person in the photo (`spokesmodel consents`)."),
]
SyntheticOption = Annotated[
    bool,
    typer.Option("--synthetic", help="Declare that the photo shows no real person; kept in the audit log."),
]
FaceOption = Annotated[str, typer.Option("--face", help="largest, or the index of the face from the left.")]
BackgroundOption = Annotated[
    str,
    typer.Option("--background", help="original, blur, studio, studio:#rrggbb, #rrggbb, or a picture's path."),
]
LabelOption = Annotated[bool, typer.Option("--label/--no-label", help="Words in the picture that say that AI made it.")]
PinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pin",
        metavar="NAME=X,Y",
        help="A point of the product's photo set by hand, as fractions of its width and height; repeatable. "
        "docs/try-on.md lists the names.",
    ),
]


def model_of(
    client: Client,
    picture: str | None,
    likes: Sequence[str] | None,
    *,
    consent: str | None,
    synthetic: bool,
    face: str,
    param: str,
) -> dict[str, Any]:
    """The request's model: the file at ``picture``, sent; a model or avatar of that id or name; or a specification.

    Raises:
        InvalidRequest: ``exactly_one``, ``model_not_found``, ``out_of_range``.
    """
    if (picture is None) == (not likes):
        raise InvalidRequest(f"Give either --{param} or --like.", code="exactly_one", param=param)
    right = {**({"consent_id": consent} if consent else {}), **({"synthetic": True} if synthetic else {})}
    common = {**right, "face": face_of(face)}
    if picture is None:
        return {"specification": specification_of(likes or ()), **common}
    if is_file(picture):
        return {"upload_id": client.upload(Path(picture), fallback_type="image/jpeg"), **common}
    return {"model_id": _known_model(client, picture, param=param), **common}


def specification_of(likes: Sequence[str]) -> dict[str, Any]:
    """What ``--like`` says, as a request has it.

    Raises:
        InvalidRequest: ``out_of_range``.
    """
    found: dict[str, Any] = {}
    for like in likes:
        trait, equals, value = like.partition("=")
        if not equals or trait not in _TRAITS:
            raise InvalidRequest(
                f"--like {like}: write TRAIT=VALUE with one of {', '.join(_TRAITS)}.",
                code="out_of_range",
                param="like",
            )
        found[trait] = _tones(value) if trait == "skin_tone" else value
    return found


def product_of(
    client: Client, value: str, kind: ProductKind, *, pins: Sequence[str] | None, consent: str | None, synthetic: bool
) -> dict[str, Any]:
    """The request's product: the photo at ``value``, sent, or the one of the catalogue with that id or SKU.

    Raises:
        InvalidRequest: ``product_not_found``, ``not_used``, ``out_of_range``.
    """
    right = {**({"consent_id": consent} if consent else {}), **({"synthetic": True} if synthetic else {})}
    if is_file(value):
        upload_id = client.upload(Path(value), fallback_type="image/jpeg")
        return {"upload_id": upload_id, "pins": pins_of(pins), **right}
    if pins or right:
        raise InvalidRequest(
            f"{value} is no file; pins, consent and synthetic are for a photo given directly.",
            code="not_used",
            param=str(kind),
        )
    return {f"{kind}_id": product_id_of(client, value, kind)}


def product_id_of(client: Client, value: str, kind: ProductKind) -> str:
    """The id of the catalogue's product with that id or SKU; of several with one SKU the newest that is ready.

    Raises:
        InvalidRequest: ``product_not_found``.
    """
    if value.startswith(f"{kind}_"):
        return value
    of_sku = list(client.items(f"/v1/{kind}s", sku=value)) if value else []
    for product in sorted(of_sku, key=lambda one: one["state"] != "ready"):
        return str(product["id"])
    raise InvalidRequest(
        f"{value} is neither a file nor a {kind} of the catalogue. Catalogues are kept in a state folder: --state-dir; "
        f"`spokesmodel {kind}s list` shows this one's.",
        code="product_not_found",
        param=str(kind),
    )


def background_of(client: Client, value: str) -> dict[str, str]:
    """The request's background."""
    if value.startswith("#"):
        return {"kind": "color", "color": value}
    name, colon, color = value.partition(":")
    if name == "studio" and colon:
        return {"kind": "studio", "color": color}
    if value in _NAMED_BACKGROUNDS:
        return {"kind": value}
    return {"kind": "image", "upload_id": client.upload(Path(value), fallback_type="image/jpeg")}


def check_background(value: str, *, param: str = "background") -> None:
    """Nothing, when the background is a name, a colour or a file.

    Raises:
        InvalidRequest: ``file_not_found``.
    """
    if not (value in _NAMED_BACKGROUNDS or value.startswith(("#", "studio:"))):
        existing_file(Path(value), param=param)


def pins_of(values: Sequence[str] | None) -> dict[str, list[float]]:
    """Points by name.

    Raises:
        InvalidRequest: ``out_of_range``.
    """
    found: dict[str, list[float]] = {}
    for value in values or ():
        name, _, place = value.partition("=")
        try:
            x, y = (float(number) for number in place.split(","))
        except ValueError as error:
            raise _no_pin(value) from error
        if not name or not all(math.isfinite(number) and 0 <= number <= 1 for number in (x, y)):
            raise _no_pin(value)
        found[name] = [x, y]
    return found


def face_of(face: str) -> str | int:
    """The request's face.

    Raises:
        InvalidRequest: ``out_of_range``.
    """
    if face == "largest":
        return face
    if not face.isdecimal():
        raise InvalidRequest(f"{face!r} is neither `largest` nor an index.", code="out_of_range", param="face")
    return int(face)


def _known_model(client: Client, name: str, *, param: str) -> str:
    models, avatars = list(client.items("/v1/models")), list(client.items("/v1/avatars"))
    is_avatar = name.startswith(_AVATAR)
    for one in (*(() if is_avatar else models), *avatars):
        if name in (one["id"], one["name"]) or _plain(name.removeprefix(_AVATAR)) == _plain(one["name"]):
            return str(one["id"])
    shown = ", ".join(dict.fromkeys(one["name"] for one in models[:_MODELS_SHOWN]))
    raise InvalidRequest(f"{name} is neither a file nor a model; models: {shown}.", code="model_not_found", param=param)


def _plain(name: str) -> str:
    return name.lower().replace(" ", "-")


def _tones(value: str) -> dict[str, int]:
    low, _, high = value.partition("-")
    if not low.isdecimal() or not (high or low).isdecimal():
        raise InvalidRequest(
            f"skin_tone is a tone of the Monk scale or a range of them, such as 4-7; {value!r} is none.",
            code="out_of_range",
            param="like",
        )
    return {"lightest": int(low), "darkest": int(high or low)}


def _no_pin(value: str) -> InvalidRequest:
    return InvalidRequest(
        f"--pin {value}: write NAME=X,Y with two fractions between 0 and 1, such as chin=0.5,0.8.",
        code="out_of_range",
        param="pin",
    )
