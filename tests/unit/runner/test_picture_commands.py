"""What the commands that make pictures understand of their options, and where they let files go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from lambdas.api.schemas.images import StepBody
from lambdas.api.schemas.models import SpecificationBody
from services.domain.errors import InvalidRequest
from services.domain.product import ProductKind
from spokesmodel.cli.choices import background_of, face_of, model_of, pins_of, product_of, specification_of
from spokesmodel.cli.folders import require_folder
from spokesmodel.cli.image import step_of
from spokesmodel.cli.picture_files import beside_picture, refuse_taken, save_beside
from spokesmodel.cli.wig import views_of

MODELS = [
    {"id": "model_01M8MW0N000TTE1VHXNGC78ZKS", "name": "Vera"},
    {"id": "model_01M8MW0N00RNVE20VQMCVV91T7", "name": "Vera in the studio"},
]
AVATARS = [{"id": "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4", "name": "Vera"}]
WIGS = [
    {"id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G7", "state": "rejected"},
    {"id": "wig_01JDV3M0Q8T2A4B6C8D0E2F4G6", "state": "ready"},
]


class KnownThings:
    """A client of a server that has some models and wigs."""

    def __init__(self) -> None:
        self.sent: list[Path] = []

    def items(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        if path == "/v1/wigs":
            return WIGS if parameters["sku"] == "BOB" else []
        return MODELS if path == "/v1/models" else AVATARS

    def upload(self, path: Path, *, fallback_type: str) -> str:
        self.sent.append(path)
        return "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6"


@pytest.fixture
def client() -> Any:
    return KnownThings()


def code_of(error: pytest.ExceptionInfo[InvalidRequest]) -> tuple[str, str | None]:
    return error.value.code, error.value.param


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("background:studio", {"tool": "background", "background": "studio"}),
        ("background:studio:#f4f1ea", {"tool": "background", "background": "studio:#f4f1ea"}),
        ("background:C:/beach, 1.png", {"tool": "background", "background": "C:/beach, 1.png"}),
        ("relight", {"tool": "relight"}),
        (
            "relight:left,strength=0.7,color=#ffe0c0",
            {"tool": "relight", "light": "left", "strength": 0.7, "color": "#ffe0c0"},
        ),
        ("retouch:skin=0.6,teeth=1", {"tool": "retouch", "skin": 0.6, "teeth": 1.0}),
        ("upscale", {"tool": "upscale", "factor": 2}),
        ("upscale:4", {"tool": "upscale", "factor": 4}),
        ("cutout", {"tool": "cutout"}),
        ("crop:4:5,head", {"tool": "crop", "shapes": ["4:5", "head"]}),
    ],
)
def test_step_is_what_the_api_takes(text: str, step: dict[str, Any]) -> None:
    assert step_of(text) == step
    sent = {"tool": "background", "kind": "studio"} if step["tool"] == "background" else step
    assert TypeAdapter(StepBody).validate_python(sent).tool == step["tool"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sharpen", "unknown_step"),
        ("cutout:hard", "unknown_step"),
        ("relight:below", "out_of_range"),
        ("relight:left,right", "out_of_range"),
        ("retouch:skin=much", "out_of_range"),
        ("retouch:nose=1", "out_of_range"),
        ("upscale:3", "out_of_range"),
        ("crop", "out_of_range"),
        ("crop:5:4", "out_of_range"),
    ],
)
def test_odd_step_is_told_with_what_is_possible(text: str, code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        step_of(text)
    assert code_of(caught) == (code, "step")
    assert text in caught.value.detail


def test_views_are_repeated_or_separated_by_commas() -> None:
    assert views_of(None) == [0]
    assert views_of(["-20,0", "12.5"]) == [-20, 0, 12.5]
    with pytest.raises(InvalidRequest) as caught:
        views_of(["left"])
    assert code_of(caught) == ("out_of_range", "yaw")


def test_traits_are_a_specification_as_the_api_takes_it() -> None:
    likes = ["gender=woman", "age=60+", "skin_tone=4-7", "scene=park"]
    body = SpecificationBody.model_validate(specification_of(likes))
    assert (body.gender, body.age, body.scene) == ("woman", "60+", "park")
    assert body.skin_tone is not None
    assert (body.skin_tone.lightest, body.skin_tone.darkest) == (4, 7)
    assert specification_of(["skin_tone=5"]) == {"skin_tone": {"lightest": 5, "darkest": 5}}


@pytest.mark.parametrize("like", ["woman", "hair=long", "skin_tone=dark"])
def test_odd_trait_is_told(like: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        specification_of([like])
    assert code_of(caught) == ("out_of_range", "like")


def test_model_is_a_file_a_name_an_id_or_traits(client: Any, tmp_path: Path) -> None:
    def chosen(picture: str | None, likes: list[str] | None = None, **right: Any) -> dict[str, Any]:
        right = {"consent": None, "synthetic": False, **right}
        return model_of(client, picture, likes, face="largest", param="portrait", **right)

    assert chosen("vera-in-the-studio")["model_id"] == MODELS[1]["id"]
    assert chosen("avatar-vera")["model_id"] == AVATARS[0]["id"]
    assert chosen(MODELS[0]["id"])["model_id"] == MODELS[0]["id"]
    assert chosen(None, ["gender=man"]) == {"specification": {"gender": "man"}, "face": "largest"}
    photo = tmp_path / "vera"  # a file goes before a model of that name
    photo.write_bytes(b"x")
    sent = chosen(str(photo), consent="consent_1", synthetic=True)
    assert (sent["consent_id"], sent["synthetic"], client.sent) == ("consent_1", True, [photo])
    for picture, likes, code in (
        (None, None, "exactly_one"),
        ("vera", ["age=60+"], "exactly_one"),
        ("eve", None, "model_not_found"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            chosen(picture, likes)
        assert code_of(caught) == (code, "portrait")


def test_product_is_a_file_an_id_or_the_sku_of_one_that_is_ready(client: Any, tmp_path: Path) -> None:
    def chosen(value: str, pins: list[str] | None = None, *, synthetic: bool = False) -> dict[str, Any]:
        return product_of(client, value, ProductKind.WIG, pins=pins, consent=None, synthetic=synthetic)

    assert chosen("BOB") == {"wig_id": WIGS[1]["id"]}
    assert chosen(WIGS[0]["id"]) == {"wig_id": WIGS[0]["id"]}
    photo = tmp_path / "wig.png"
    photo.write_bytes(b"x")
    assert chosen(str(photo), ["chin=0.5,0.7"], synthetic=True) == {
        "upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6", "pins": {"chin": [0.5, 0.7]}, "synthetic": True,
    }  # fmt: skip
    with pytest.raises(InvalidRequest) as caught:
        chosen("LOB")
    assert code_of(caught) == ("product_not_found", "wig")
    with pytest.raises(InvalidRequest) as caught:
        chosen("BOB", synthetic=True)
    assert code_of(caught) == ("not_used", "wig")


@pytest.mark.parametrize("pin", ["chin", "chin=0.5", "chin=0.5,0.6,0.7", "chin=50,70", "=0.5,0.5", "chin=nan,0.5"])
def test_odd_pin_is_told(pin: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        pins_of([pin])
    assert code_of(caught) == ("out_of_range", "pin")


def test_backgrounds(client: Any, tmp_path: Path) -> None:
    assert background_of(client, "original") == {"kind": "original"}
    assert background_of(client, "#102030") == {"kind": "color", "color": "#102030"}
    assert background_of(client, "studio:#f4f1ea") == {"kind": "studio", "color": "#f4f1ea"}
    assert background_of(client, str(tmp_path / "beach.jpg"))["kind"] == "image"


def test_face_is_the_largest_or_an_index() -> None:
    assert (face_of("largest"), face_of("2")) == ("largest", 2)
    with pytest.raises(InvalidRequest):
        face_of("left")


def test_pictures_files_stand_beside_it(tmp_path: Path) -> None:
    targets = beside_picture(tmp_path / "new" / "me.png", main="picture", more=("crop_4x5",))
    assert {role: path.name for role, path in targets.items()} == {
        "picture": "me.png", "mask": "me-mask.png", "sheet": "me-sheet.jpg", "crop_4x5": "me-crop_4x5.png",
    }  # fmt: skip
    assert beside_picture(tmp_path, main="picture")["picture"] == tmp_path / "picture.png"
    with pytest.raises(InvalidRequest) as caught:
        beside_picture(tmp_path / "me.jpg", main="picture")
    assert code_of(caught) == ("out_not_png", "out")


def test_folder_for_results_is_looked_at_before_the_work_and_made_with_the_first(tmp_path: Path) -> None:
    class Downloads:
        def download(self, url: str, path: Path) -> None:
            path.write_text(url)

    targets = beside_picture(tmp_path / "new" / "deep" / "me.png", main="picture")
    assert list(tmp_path.iterdir()) == []
    job = {"result": {"outputs": [{"name": name, "url": f"/x/{name}.png?y"} for name in ("picture", "depth")]}}
    files = save_beside(Downloads(), job, targets, main="picture")  # type: ignore[arg-type]
    assert {role: path.name for role, path in files.items()} == {"picture": "me.png", "depth": "me-depth.png"}
    assert files["depth"].read_text() == "/x/depth.png?y"


def test_place_where_no_folder_can_be_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for folder in (tmp_path / "file", tmp_path / "file" / "deep", tmp_path / "loop" / "deep"):
        with pytest.raises(InvalidRequest) as caught:
            require_folder(folder)
        assert code_of(caught) == ("out_not_writable", "out")
    require_folder(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()


def test_input_is_never_replaced_whatever_it_is_called(tmp_path: Path) -> None:
    photo = tmp_path / "me-sheet.jpg"
    photo.write_bytes(b"photo")
    targets = beside_picture(tmp_path / "me.png", main="picture")
    with pytest.raises(InvalidRequest) as caught:
        refuse_taken(targets, {"person": str(tmp_path / "." / "me-sheet.jpg")}, proof=("picture",))
    assert caught.value.code == "out_is_input"


def test_only_what_an_earlier_call_made_is_replaced(tmp_path: Path) -> None:
    targets = beside_picture(tmp_path / "me.png", main="picture")
    targets["picture"].write_bytes(b"somebody's")
    with pytest.raises(InvalidRequest) as caught:
        refuse_taken(targets, {}, proof=("picture", "mask", "sheet"))
    assert caught.value.code == "out_exists"
    for path in targets.values():
        path.write_bytes(b"ours")
    refuse_taken(targets, {}, proof=("picture", "mask", "sheet"))
