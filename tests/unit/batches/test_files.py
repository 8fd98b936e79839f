"""Files as spreadsheets, databases and people write them, and as they break."""

from __future__ import annotations

import codecs
import json

import pytest

from services.domain.batch import BatchKind, BatchState
from services.domain.errors import ContentRejected
from services.usecases.batch_file import CSV, JSONL
from services.usecases.batch_objects import REPORT_JSON, answer_key
from tests.unit.batches.conftest import make_world

GOOD = 'id,duration_s,fault\nsku-1,1.5,none\n"sku ""2"", 图",0,reject\nsku-3,,\n'


def requests(world, batch):
    return [(row.external_id, dict(row.request)) for row in world.rows(batch)]


EXPECTED = [
    ("sku-1", {"duration_s": 1.5, "fault": "none"}),
    ('sku "2", 图', {"duration_s": 0, "fault": "reject"}),
    ("sku-3", {}),
]


@pytest.mark.parametrize(
    "data",
    [
        GOOD.encode(),
        codecs.BOM_UTF8 + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        GOOD.encode("utf-16"),
        codecs.BOM_UTF16_BE + GOOD.encode("utf-16-be"),
        GOOD.replace('2"", 图"', '2""; 图"').replace(",", ";").replace("; 图", ", 图").encode(),
        GOOD.replace('2"", 图"', '2""@ 图"').replace(",", "\t").replace("@ 图", ", 图").encode("utf-16"),
        b"sep=;\n" + GOOD.replace('2"", 图"', '2""; 图"').replace(",", ";").replace("; 图", ", 图").encode(),
        GOOD.encode() + b"\n\n,,\n",
        GOOD.replace("id,duration_s,fault\n", " id , duration_s,fault,\n").replace("none\n", "none,\n").encode(),
        GOOD.rstrip("\n").encode(),
    ],
    ids=[
        "UTF-8", "byte order mark", "Windows line ends", "old Mac line ends", "UTF-16", "UTF-16 big-endian",
        "semicolons", "tabs in UTF-16", "sep= line", "blank rows at the end", "spaced header, column without name",
        "no last line end",
    ],
)  # fmt: skip
def test_table_is_read_whatever_program_wrote_it(world, data):
    batch = world.submit_file(data)
    checked = world.serve(batch)
    assert (checked.state, dict(checked.counts)) == (BatchState.PROCESSING, {"pending": 3}), world.report(batch)
    assert requests(world, batch) == EXPECTED


def test_jsonl_is_read_with_its_own_types(world):
    lines = [json.dumps({"id": 7, "duration_s": 1.5}), json.dumps({"id": "图", "fault": "reject"}, ensure_ascii=False)]
    batch = world.submit_file("\ufeff" + "\r\n".join(lines) + "\n\n", media_type=JSONL)
    world.serve(batch)
    assert requests(world, batch) == [("7", {"duration_s": 1.5}), ("图", {"fault": "reject"})]


def test_defaults_lie_under_each_row(world):
    batch = world.submit_file(GOOD, defaults={"duration_s": 3, "faulty_attempts": 2})
    world.serve(batch)
    assert [request for _, request in requests(world, batch)] == [
        {"duration_s": 1.5, "fault": "none", "faulty_attempts": 2},
        {"duration_s": 0, "fault": "reject", "faulty_attempts": 2},
        {"duration_s": 3, "faulty_attempts": 2},
    ]


@pytest.mark.parametrize(
    ("row", "column", "code"),
    [
        ("sku-1,2,none", "id", "duplicate_id"),
        ("x,1 s,none", "duration_s", "invalid_request"),
        ('x,"1,5",none', "duration_s", "invalid_request"),
        ("x,-1,none", "duration_s", "invalid_request"),
        ("x,999999,none", "duration_s", "out_of_range"),
        ("x,nan,none", "duration_s", "invalid_request"),
        ("x,1,nonesuch", "fault", "invalid_request"),
        ("x,1", None, "wrong_number_of_cells"),
        ("x,1,none,more", None, "wrong_number_of_cells"),
        ('"x" y,1,none', "id", "broken_quotes"),
        ('x,1,"none"none', "fault", "broken_quotes"),
        ("x" * 201 + ",1,none", "id", "out_of_range"),
        ("x\x1b[31m,1,none", "id", "control_character"),
    ],
)
def test_fault_is_told_by_row_and_column_and_the_other_rows_run(world, row, column, code):
    batch = world.submit_file(f"id,duration_s,fault\nsku-1,1,none\n{row}\nsku-3,1,none\n")
    ended = world.run_to_end(batch)
    assert world.report(batch) == [(2, column, code)]
    assert ended.counts == {"succeeded": 2, "invalid": 1}
    assert world.states(batch) == ["succeeded", "invalid", "succeeded"]


@pytest.mark.parametrize("blank", ["", ",,", " , ,\t"])
def test_blank_rows_of_a_table_are_passed_over_and_the_others_keep_their_number(world, blank):
    batch = world.submit_file(f"id,duration_s,fault\na,1,none\n{blank}\n{blank}\nb,x,none\nc,1,none\n")
    ended = world.run_to_end(batch)
    assert world.report(batch) == [(4, "duration_s", "invalid_request")]
    assert [(row.number, row.state) for row in world.rows(batch)] == [
        (1, "succeeded"),
        (4, "invalid"),
        (5, "succeeded"),
    ]
    assert ended.counts == {"succeeded": 2, "invalid": 1}


def test_blank_lines_of_jsonl_are_passed_over_and_the_others_keep_their_number(world):
    batch = world.submit_file('\n{"duration_s": 1}\n \n\n{"duration_s": 2}\n', media_type=JSONL)
    assert world.run_to_end(batch).counts == {"succeeded": 2}
    assert [row.number for row in world.rows(batch)] == [2, 5]


def test_bytes_that_are_no_utf_8_are_told_by_row_and_column(world):
    batch = world.submit_file("id,fault\na,none\nMüller,none\nb,none\n".encode("latin-1"))
    assert world.run_to_end(batch).counts == {"succeeded": 2, "invalid": 1}
    assert world.report(batch) == [(2, "id", "not_utf8")]


def test_every_fault_of_a_row_is_told(world):
    batch = world.submit_file("id,duration_s,fault\nsku,x,y\nsku,x,y\n")
    world.serve(batch)
    assert world.report(batch) == [
        (1, "duration_s", "invalid_request"),
        (1, "fault", "invalid_request"),
        (2, "id", "duplicate_id"),
        (2, "duration_s", "invalid_request"),
        (2, "fault", "invalid_request"),
    ]


@pytest.mark.parametrize(
    ("line", "column", "code"),
    [
        ('{"duration_s": "1"}', "duration_s", "invalid_request"),
        ('{"duration": 1}', "duration", "unknown_column"),
        ('{"duration_s": 1', None, "malformed_json"),
        ('{"duration_s": NaN}', None, "malformed_json"),
        ('{"duration_s": 1, "duration_s": 2}', None, "malformed_json"),
        ("[1]", None, "malformed_json"),
        ('{"id": ""}', "id", "out_of_range"),
        ('{"id": {}}', "id", "invalid_request"),
        ('{"id": "\\ud800"}', "id", "not_utf8"),
        ("[" * 100_000, None, "malformed_json"),
        ('{"duration_s": ' + "[" * 900 + "]" * 900 + "}", None, "malformed_json"),
        ('{"id": "' + "x" * 300_000 + '"}', None, "row_too_large"),
    ],
)
def test_fault_in_jsonl_is_told_by_row_and_field(world, line, column, code):
    batch = world.submit_file(f'{{"duration_s": 1}}\n{line}\n{{"duration_s": 1}}\n', media_type=JSONL)
    ended = world.run_to_end(batch)
    assert world.report(batch) == [(2, column, code)]
    assert ended.counts == {"succeeded": 2, "invalid": 1}


@pytest.mark.parametrize(
    ("data", "code", "faults"),
    [
        (b"", "empty_file", [(0, None, "empty_file")]),
        (b"\xef\xbb\xbf\r\n", "empty_file", [(0, None, "empty_file")]),
        (b"duration_s\n", "empty_file", []),
        (b"duration_s,nonesuch\n1,2\n", "unusable_header", [(0, "nonesuch", "unknown_column")]),
        (b"id,duration_s,id\na,1,b\n", "unusable_header", [(0, "id", "duplicate_column")]),
        (b"a,b\n1,2\n", "unusable_header", [(0, "a", "unknown_column"), (0, "b", "unknown_column")]),
        (b'id,duration_s\na,1\n"b,2\nc,3\n', "broken_quotes", [(0, "id", "broken_quotes")]),
        (b"PK\x03\x04rest of a zip", "unsupported_media", [(0, None, "unsupported_media")]),
        ("id\na\n".encode("utf-16-le"), "not_utf8", [(0, None, "not_utf8")]),
        ("id\na\n".encode("utf-16")[:-1], "not_utf8", [(0, None, "not_utf8")]),
    ],
    ids=[
        "nothing", "only a mark", "only a header", "unknown column", "column twice", "no header", "open quote", "xlsx",
        "UTF-16 without mark", "half a character",
    ],
)  # fmt: skip
def test_file_that_cannot_be_used_as_a_whole_is_refused_by_name_and_nothing_runs(world, data, code, faults):
    world_file = data or b"\n"  # an upload has at least one byte
    batch = world.submit_file(world_file)
    ended = world.run_to_end(batch)
    assert (ended.state, ended.failure.code) == (BatchState.FAILED, code)
    assert world.report(batch) == faults
    assert not world.jobs_of(batch)


def test_unknown_columns_are_told_with_what_was_meant(world):
    from lambdas.api.creations import CREATIONS

    creation = CREATIONS["video"](world.services)
    details = {fault.column: fault.detail for fault in creation.header_faults(
        ["speech.txt", "speech", "presenter.file", "speech.audio_file", "speech.voice.pronunciations.705A", "id"]
    )}  # fmt: skip
    assert "'speech.text'" in details["speech"] or "such as" in details["speech"]
    assert "speech.text" in details["speech.txt"]
    assert "presenter.upload_id" in details["presenter.file"]
    assert "speech.audio_upload_id" in details["speech.audio_file"]
    assert len(details) == 4


def test_rows_beyond_the_limit_refuse_the_file():
    world = make_world(max_batch_rows=3)
    batch = world.submit_file("duration_s\n1\n1\n1\n")
    assert world.run_to_end(batch).counts == {"succeeded": 3}
    batch = world.submit_file("duration_s\n1\n\n1\n\n1\n")  # blank ones are no rows
    assert world.run_to_end(batch).counts == {"succeeded": 3}
    batch = world.submit_file("duration_s\n1\n1\n1\n1\n")
    ended = world.run_to_end(batch)
    assert (ended.state, ended.failure.code) == (BatchState.FAILED, "too_many_rows")


@pytest.mark.parametrize(
    ("data", "media_type", "settings", "code"),
    [
        (b"a" * 101, CSV, {"max_batch_file_bytes": 100}, "file_too_large"),
        (b"...", "image/png", {}, "wrong_media_type"),
        (None, CSV, {}, "upload_incomplete"),
    ],
)
def test_upload_that_is_no_batch_is_refused_at_once(data, media_type, settings, code):
    world = make_world(**settings)

    from services.usecases.submit_batch import BatchOrder

    upload_id = world.upload(media_type, data)
    with pytest.raises(ContentRejected) as raised:
        world.order(BatchOrder(kind=BatchKind.NOOP, upload_id=upload_id))
    assert (raised.value.code, raised.value.param) == (code, "upload_id")


def test_report_opens_in_a_spreadsheet(world):
    import csv
    import io

    from services.usecases.batch_objects import REPORT_CSV, answer_key

    batch = world.submit_file('id,duration_s\n"a, ""b"" 图",x\n=1+1,x\n')
    world.serve(batch)
    data = world.objects.get(answer_key(batch, REPORT_CSV))
    assert data.startswith(codecs.BOM_UTF8)
    [header, row, formula] = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert header == ["row", "id", "column", "code", "reason"]
    assert row[:4] == ["1", 'a, "b" 图', "duration_s", "invalid_request"]
    assert "'x'" in row[4]
    assert formula[1] == "'=1+1"


def test_row_that_is_too_large_with_its_defaults_is_told():
    world = make_world(max_request_bytes=200)
    defaults = {"presenter": {"avatar_id": "图" * 60}}
    batch = world.submit_file("id\na\n", kind=BatchKind.VIDEO, defaults=defaults)
    world.serve(batch)
    assert world.report(batch) == [(1, None, "row_too_large")]


@pytest.mark.parametrize(
    ("data", "media_type", "told"),
    [
        ("id\na\n".encode("utf-32"), CSV, "The file is UTF-32; save it as UTF-8."),
        (b"id," + b"x" * 200_000 + b"\na,b\n", CSV, "a cell has more than 131072 characters"),
        (b'{"id": "\\ud800"}\n', JSONL, "half a character (U+D800)"),
        (b'{"duration_s": ' + b"1" * 5_000 + b"}\n", JSONL, "a number has too many digits"),
        (b'{"duration_s": 1, "duration_s": 2}\n', JSONL, "the key 'duration_s' stands twice"),
        (b"fault\n09:16:00\n", CSV, "'09:16:00' (a time, as spreadsheets make of 9:16; format the column as text)"),
    ],
    ids=["UTF-32", "header of one long cell", "surrogate", "digits", "key twice", "time"],
)
def test_what_is_wrong_is_told_in_words_of_the_file(world, data, media_type, told):
    batch = world.submit_file(data, media_type=media_type)
    ended = world.run_to_end(batch)
    report = json.loads(world.objects.get(answer_key(ended, REPORT_JSON)))
    [fault] = report["faults"]
    assert told in fault["reason"]
    assert "sys." not in fault["reason"]
