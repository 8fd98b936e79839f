"""The parts of ``spokesmodel batch``: files that rows name, names of results, what is remembered."""

from __future__ import annotations

import csv
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest

from services.domain.errors import InvalidRequest, QuotaExceeded
from spokesmodel.cli.batch.follow import (
    _names,
    advice_of,
    estimate_of,
    faults_of,
    progress_of,
    save_results,
    summary_of,
)
from spokesmodel.cli.batch.memo import Memo, known_batch, read_memo, write_memo
from spokesmodel.cli.batch.prepare import prepare, read_defaults, send, table_delimiter
from spokesmodel.client import Client

MEMO = Memo(batch_id="batch_1", sha256="ab", out="/o", state_dir="/s", server=None, renamed={"a.upload_id": "a.file"})


class FakeClient:
    """Keeps what was uploaded and posted."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes, str | None]] = []
        self.posted: list[dict[str, Any]] = []

    def upload(self, path: Path, *, fallback_type: str, media_type: str | None = None) -> str:
        self.sent.append((path.name, path.read_bytes(), media_type or fallback_type))
        return f"upload_{len(self.sent)}"

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.posted.append(body)
        return {"id": "batch_1"}


def sent_of(file: Path, defaults: dict[str, Any] | None = None) -> FakeClient:
    client = FakeClient()
    prepared = prepare(file, defaults or {})
    assert prepared.media.faults == []
    send(prepared, {"kind": "video"}, client, lambda stage, fraction: None)  # type: ignore[arg-type]
    return client


def test_each_content_is_sent_once_and_its_upload_takes_its_place(tmp_path):
    for name, data in {"a.jpg": b"one", "b.jpg": b"one", "c.wav": b"two", "d.png": b"three"}.items():
        (tmp_path / name).write_bytes(data)
    file = tmp_path / "t.csv"
    file.write_text(
        "id,presenter.file,speech.audio_file,speech.text\n"
        'x,a.jpg,,"Hello, ""you""."\n'
        "y,b.jpg,c.wav,\n"
        "z,,,Bye.\n"
    )  # fmt: skip
    client = sent_of(file, {"background": {"kind": "image", "file": "d.png"}})
    assert [(name, kind) for name, _, kind in client.sent] == [
        ("d.png", "image/jpeg"),
        ("a.jpg", "image/jpeg"),
        ("c.wav", "audio/wav"),
        ("t.csv", "text/csv"),
    ]
    rows = list(csv.reader(io.StringIO(client.sent[-1][1].decode(), newline="")))
    assert rows == [
        ["id", "presenter.upload_id", "speech.audio_upload_id", "speech.text"],
        ["x", "upload_2", "", 'Hello, "you".'],
        ["y", "upload_2", "upload_3", ""],
        ["z", "", "", "Bye."],
    ]
    background = {"kind": "image", "upload_id": "upload_1"}
    assert client.posted == [{"kind": "video", "upload_id": "upload_4", "defaults": {"background": background}}]


def test_table_that_is_sent_in_place_of_another_has_its_delimiter_and_blank_rows(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"one")
    file = tmp_path / "t.csv"
    file.write_text("id;presenter.file\nx;a.jpg\n;\n\ny;a.jpg\n")
    assert sent_of(file).sent[-1][1].decode().splitlines() == [
        "id;presenter.upload_id", "x;upload_1", ";", ";", "y;upload_1",
    ]  # fmt: skip


def test_lines_that_are_sent_in_place_of_others_keep_blank_ones(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"one")
    file = tmp_path / "t.jsonl"
    line = json.dumps({"presenter": {"file": "a.jpg"}})
    file.write_text(f"{line}\n\n{line}\n")
    sent = json.dumps({"presenter": {"upload_id": "upload_1"}})
    assert sent_of(file).sent[-1][1].decode() == f"{sent}\n\n{sent}\n"


def test_server_that_was_asked_too_often_is_asked_again(tmp_path, monkeypatch):
    (tmp_path / "a.jpg").write_bytes(b"one")
    file = tmp_path / "t.csv"
    file.write_text("presenter.file\na.jpg\n")
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    upload, answers = FakeClient.upload, iter([QuotaExceeded("too often", retry_after_s=3.0)])

    def once_too_often(self: FakeClient, path: Path, **options: Any) -> str:
        for error in answers:
            raise error
        return upload(self, path, **options)

    monkeypatch.setattr(FakeClient, "upload", once_too_often)
    assert [name for name, *_ in sent_of(file).sent] == ["a.jpg", "t.csv"]
    assert pauses == [3.0]


def test_lines_of_json_name_files_too(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"one")
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps({"presenter": {"file": "a.jpg", "face": 0}, "speech": {"text": "Grüße"}}) + "\n")
    client = sent_of(file)
    assert json.loads(client.sent[-1][1]) == {
        "presenter": {"upload_id": "upload_1", "face": 0},
        "speech": {"text": "Grüße"},
    }


@pytest.mark.parametrize(
    "data", [b"id,speech.text\nx,\xff\n\n1,2,3\n", b"PK\x03\x04", b'a\n"open', "id\nä\n".encode("utf-16")]
)
def test_table_that_names_no_files_is_sent_as_it_is_for_the_server_to_judge(tmp_path, data):
    file = tmp_path / "t.csv"
    file.write_bytes(data)
    assert sent_of(file).sent == [("t.csv", data, "text/csv")]


def test_missing_files_and_unreadable_rows_are_told_by_row_and_column(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,presenter.file\nx,nix.jpg\ny\nz,\n")
    prepared = prepare(file, {"background": {"file": "gone.png"}})
    told = [(fault["row"], fault["column"], fault["code"]) for fault in prepared.media.faults]
    assert told == [
        (0, "background.file", "file_not_found"),
        (1, "presenter.file", "file_not_found"),
        (2, None, "wrong_number_of_cells"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "delimiter"),
    [
        ("t.csv", b"a;b,c;d\n", ";"),
        ("t.csv", "\ufeffa\tb\n".encode("utf-16-le"), "\t"),
        ("t.csv", b"sep=\t\na,b\n", "\t"),
        ("t.csv", b"", ","),
        ("t.jsonl", b'{"a": ";;;"}', ","),
    ],
)
def test_results_have_the_delimiter_of_the_table(tmp_path, name, data, delimiter):
    (tmp_path / name).write_bytes(data)
    assert table_delimiter(str(tmp_path / name)) == delimiter


def test_results_of_a_batch_by_its_id_have_commas():
    assert table_delimiter("batch_01JDV3M0Q8T2A4B6C8D0E2F4G6") == ","


@pytest.mark.parametrize(("name", "code"), [("t.xlsx", "unsupported_media_type"), ("gone.csv", "file_not_found")])
def test_what_is_no_table_is_refused(tmp_path, name, code):
    with pytest.raises(InvalidRequest) as raised:
        prepare(tmp_path / name, {})
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("text", "code"), [("[1]", "malformed_json"), ("{", "malformed_json"), (None, "file_not_found")]
)
def test_defaults_are_an_object(tmp_path, text, code):
    path = tmp_path / "d.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidRequest) as raised:
        read_defaults(path)
    assert raised.value.code == code


def test_results_are_named_for_ids_and_never_the_same_or_outside():
    ids = ["sku 1/2", "sku-1", None, "../../etc/passwd", "SKU-1", "小明", "...", "sku 1/2", "con", "Lpt1.x", "console"]
    rows = [{"row": number, "id": name} for number, name in enumerate(ids, 1)]
    names = list(_names(rows).values())
    assert names == [
        "sku_1_2", "sku-1", "row-03", "etc_passwd", "SKU-1-row-05", "小明", "row-07", "sku_1_2-row-08", "con-row-09",
        "Lpt1.x-row-10", "console",
    ]  # fmt: skip
    assert len({name.casefold() for name in names}) == len(names)


def test_faults_name_columns_as_the_file_does():
    rows = [
        {"row": 1, "id": "a", "faults": [{"column": "a.upload_id", "code": "c", "reason": "r"}], "failure": None},
        {"row": 2, "id": None, "faults": [], "failure": {"param": None, "code": "d", "detail": "s"}},
        {"row": 3, "id": None, "faults": [], "failure": None},
    ]
    assert faults_of(rows, MEMO.renamed) == [
        {"row": 1, "id": "a", "column": "a.file", "code": "c", "reason": "r"},
        {"row": 2, "id": None, "column": None, "code": "d", "reason": "s"},
    ]


def test_progress_counts_rows_that_can_run():
    counts = {"invalid": 2, "pending": 1, "submitted": 1, "succeeded": 5, "failed": 1, "canceled": 0}
    batch = {"num_rows": 10, "counts": counts, "report": {}, "dry_run": False}
    assert progress_of(batch) == ("6 of 8, 1 failed", 0.75)
    assert summary_of(batch) == "10 rows: 2 invalid, 1 pending, 1 submitted, 5 succeeded, 1 failed"
    held = {**batch, "held_by": {"code": "monthly_quota_used", "detail": ""}}
    assert progress_of(held)[0] == "6 of 8, 1 failed, waiting: monthly_quota_used"
    assert progress_of({**batch, "report": None}) == ("checking", 0.0)


def test_advice_is_what_can_be_done_next():
    counts = {"invalid": 1, "pending": 0, "submitted": 0, "succeeded": 5, "failed": 1, "canceled": 0}
    batch = {"state": "succeeded", "counts": counts}
    assert advice_of(batch, "my t.csv") == "to try the failed rows again: spokesmodel batch retry 'my t.csv'"
    assert advice_of({**batch, "counts": {**counts, "failed": 0}}, "t.csv") == ""
    assert "resume t.csv" in advice_of({**batch, "state": "paused"}, "t.csv")
    assert advice_of({**batch, "state": "canceled"}, "t.csv") == ""


def test_small_amounts_are_no_nothing():
    estimate = {"quantities": {"output_s": 5.4}, "cost": {"amount": 0.0135, "currency": "USD"}}
    assert estimate_of({"estimate": estimate}) == "estimate: 5 s of video, 0.0135 USD"
    estimate["cost"] = {"amount": 194.0, "currency": "USD"}
    assert estimate_of({"estimate": estimate}) == "estimate: 5 s of video, 194.00 USD"
    assert estimate_of({"estimate": None}) == ""


def test_batch_is_remembered_beside_its_file(tmp_path):
    file = tmp_path / "t.csv"
    assert read_memo(file) is None
    write_memo(file, MEMO)
    assert read_memo(file) == MEMO
    assert known_batch(str(file)) == ("batch_1", MEMO)
    batch_id = "batch_01JDV3M0Q8T2A4B6C8D0E2F4G6"
    assert known_batch(batch_id) == (batch_id, None)
    (tmp_path / "t.csv.batch.json").write_text("{}")
    with pytest.raises(InvalidRequest) as raised:
        known_batch(str(file))
    assert raised.value.code == "batch_unknown"


def test_files_that_are_there_already_and_an_engines_own_are_not_fetched(tmp_path):
    output = {"name": "video", "url": "u/video.mp4", "media_type": "video/mp4", "size_bytes": 3, "sha256": ""}
    engines_own = {**output, "name": "asset_0", "url": "u/asset_0.zip", "media_type": "application/zip"}
    row = {
        "row": 1, "id": "x", "state": "succeeded", "job_id": "j", "tries": 1, "faults": [], "failure": None,
        "result": {"outputs": [engines_own, output], "facts": {"duration_s": 1.0}},
    }  # fmt: skip

    class Server:
        def __init__(self) -> None:
            self.downloads: list[str] = []

        def get(self, path: str, **asked: str) -> dict[str, Any]:
            return {"url": "table", "next_cursor": None}

        def download(self, url: str, path: Path) -> None:
            self.downloads.append(url)
            path.write_bytes(json.dumps(row).encode() + b"\n" if url == "table" else b"abc")

    server = Server()
    for _ in range(2):
        rows = save_results(server, {"id": "b"}, tmp_path / "out", lambda stage, fraction: None, delimiter=";")  # type: ignore[arg-type]
    assert server.downloads == ["table", "u/video.mp4", "table"]
    assert rows[0]["files"] == {"video": str(tmp_path / "out" / "x.mp4")}
    table = (tmp_path / "out" / "results.csv").read_text(encoding="utf-8-sig").splitlines()
    assert table[0] == "row;id;state;job_id;column;code;reason;video;facts"
    assert table[1].startswith("1;x;succeeded;j;;;;x.mp4;")


class Meeting(Client):
    """A client that is half through each download when the other one is."""

    def __init__(self, barrier: threading.Barrier, row: dict[str, Any]) -> None:
        super().__init__("http://127.0.0.1:1", "key")
        self._barrier = barrier
        self._row = row

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        return {"url": "table", "next_cursor": None}

    def _receive(self, url: str, file: IO[bytes]) -> None:
        data = json.dumps(self._row).encode() + b"\n" if url == "table" else b"abcdef"
        file.write(data[:3])
        file.flush()
        self._barrier.wait(timeout=20)
        file.write(data[3:])


def test_two_commands_fetch_into_one_folder_and_neither_is_in_the_others_way(tmp_path):
    output = {"name": "video", "url": "u/video.mp4", "media_type": "video/mp4", "size_bytes": 6, "sha256": ""}
    row = {
        "row": 1, "id": "x", "state": "succeeded", "job_id": "j", "tries": 1, "faults": [], "failure": None,
        "result": {"outputs": [output], "facts": {}},
    }  # fmt: skip
    barrier = threading.Barrier(2)

    def fetch(_: int) -> list[dict[str, Any]]:
        with Meeting(barrier, row) as client:
            return save_results(client, {"id": "b"}, tmp_path / "out", lambda stage, fraction: None, delimiter=",")

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(fetch, range(2))
    assert first == second
    assert (tmp_path / "out" / "x.mp4").read_bytes() == b"abcdef"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["results.csv", "x.mp4"]
