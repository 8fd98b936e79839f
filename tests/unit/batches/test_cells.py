"""Cells become the values that the request's fields take."""

from __future__ import annotations

import pytest

from lambdas.api.creations import CREATIONS, columns_of
from lambdas.api.schemas.videos import VideoBody
from services.domain.batch import BatchKind
from services.domain.cell import CellType, cell_value, shown_cell

INTEGER, NUMBER, YES_NO, TEXT = CellType.INTEGER, CellType.NUMBER, CellType.YES_NO, CellType.TEXT
LIST, MAPPING = CellType.LIST, CellType.MAPPING


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        ("25", {INTEGER}, 25),
        (" 25.0 ", {INTEGER}, 25),
        ("25.5", {INTEGER}, "25.5"),
        ("1_000", {INTEGER}, "1_000"),
        ("1e3", {NUMBER}, 1000.0),
        ("1,5", {NUMBER}, "1,5"),
        ("largest", {INTEGER, CellType.NAME}, "largest"),
        ("2", {INTEGER, CellType.NAME}, 2),
        ("TRUE", {YES_NO}, True),
        ("false", {YES_NO}, False),
        ("WAHR", {YES_NO}, True),
        ("Falso", {YES_NO}, False),
        ("yes", {YES_NO}, "yes"),
        ("25", {TEXT}, "25"),
        ("  two  words ", {TEXT}, "two  words"),
        ("light | grips on wet streets|", {LIST}, ["light", "grips on wet streets"]),
        ("one", {LIST}, ["one"]),
        ('["a | b", "c"]', {LIST}, ["a | b", "c"]),
        ("[broken", {LIST}, "[broken"),
        ('{"705A": "seven oh five A"}', {MAPPING}, {"705A": "seven oh five A"}),
    ],
)
def test_cell_is_read_as_its_field_takes_it(text, types, value):
    read = cell_value(text, frozenset(types))
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-sku", "'-sku"),
        ("-1.5", "-1.5"),
        ("+49", "+49"),
        ("\t=1", "'\t=1"),
        ("sku=1", "sku=1"),
        (None, ""),
        (7, 7),
    ],
)
def test_text_of_clients_is_no_formula_in_a_table(value, shown):
    assert shown_cell(value) == shown


def test_every_field_of_a_video_is_a_column_by_its_dotted_name():
    columns = columns_of(VideoBody)
    assert {"speech.text", "speech.brief.product", "speech.brief.benefits", "presenter.avatar_id", "frame.fps"} <= set(
        columns
    )
    assert columns["speech.brief.benefits"] == {LIST}
    assert columns["frame.fps"] == {INTEGER}
    assert columns["speech.voice.speed"] == {NUMBER}
    assert "speech" not in columns


def test_row_of_a_table_becomes_the_body_that_a_program_would_send(world):
    creation = CREATIONS["video"](world.services)
    body = creation.body_of(
        {
            "presenter.avatar_id": "avatar_1",
            "speech.brief.product": "Aurora",
            "speech.brief.benefits": "light|dry",
            "speech.voice.pronunciations.705A": "seven oh five A",
            "frame.fps": "25",
        }
    )
    assert body == {
        "presenter": {"avatar_id": "avatar_1"},
        "speech": {
            "brief": {"product": "Aurora", "benefits": ["light", "dry"]},
            "voice": {"pronunciations": {"705A": "seven oh five A"}},
        },
        "frame": {"fps": 25},
    }


def test_rows_own_choice_drops_the_defaults_of_another(world):
    creation = CREATIONS["video"](world.services)
    defaults = {
        "presenter": {"avatar_id": "avatar_1", "face": 1},
        "speech": {"text": "Default.", "voice": {"voice_id": "en-us", "speed": 1.2}},
    }
    upload = creation.with_defaults({"presenter": {"upload_id": "upload_1"}}, defaults)
    assert upload["presenter"] == {"upload_id": "upload_1", "face": 1}
    brief = creation.with_defaults({"speech": {"brief": {"product": "A"}}}, defaults)
    assert brief["speech"] == {"brief": {"product": "A"}, "voice": {"voice_id": "en-us", "speed": 1.2}}
    audio = creation.with_defaults({"speech": {"audio_upload_id": "upload_1"}}, defaults)
    assert audio["speech"] == {"audio_upload_id": "upload_1"}
    voice = creation.with_defaults({"speech": {"voice": {"speed": 2}}}, defaults)
    assert voice["speech"] == {"text": "Default.", "voice": {"voice_id": "en-us", "speed": 2}}


def test_every_kind_of_work_can_be_asked_for_in_batches():
    assert set(CREATIONS) == set(BatchKind)
