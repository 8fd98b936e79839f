"""A warm helper process per speech engine, so that a crash in a native library never takes the caller down.

Frames on both pipes: length of the JSON header (4 bytes, little endian), header, then ``num_bytes`` of payload that
the header announces. A request is one frame; its answer is any number of frames, the last with ``"end": true``.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from services.domain.errors import EngineFailed, SpokesmodelError

Header = dict[str, Any]
Frame = tuple[Header, bytes]

_TIMEOUT_S: Final = 600.0  # a whole request; the longest text takes seconds with espeak, minutes with Piper


def write_frame(stream: IO[bytes], header: Mapping[str, Any], payload: bytes = b"") -> None:
    """Send one frame and flush it."""
    head = json.dumps({**header, "num_bytes": len(payload)}, ensure_ascii=False).encode()
    stream.write(struct.pack("<I", len(head)) + head)
    stream.write(payload)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Frame | None:
    """The next frame, or None when the other side is gone."""
    size = stream.read(4)
    if len(size) < 4:
        return None
    head = stream.read(struct.unpack("<I", size)[0])
    try:
        header: Header = json.loads(head)
    except ValueError:
        return None
    payload = stream.read(header["num_bytes"])
    return (header, payload) if len(payload) == header["num_bytes"] else None


def serve_forked(answer: Callable[[Header, IO[bytes]], None], prepare: Callable[[Header], None] | None = None) -> None:
    """The helper's side: answer requests until the caller is gone, each in a fork of this warm process.

    A fork always starts from the same state, so the same request gives the same samples, and a crash costs one
    request. ``answer`` writes whole frames only, without the last; ``prepare`` runs before the fork and may load.
    """
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while (frame := read_frame(requests)) is not None:
        if prepare is not None:
            prepare(frame[0])
        helper, child = os.getpid(), os.fork()
        if child == 0:
            _end_with(helper)
            try:
                answer(frame[0], answers)
                write_frame(answers, {"end": True})
            except SpokesmodelError as error:
                problem = {"error": error.detail, "code": error.code, "retryable": error.retryable}
                write_frame(answers, {**problem, "end": True})
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            detail = "The speech engine broke on this text."
            write_frame(answers, {"error": detail, "code": "speech_engine_crashed", "retryable": False, "end": True})


def _end_with(helper: int) -> None:
    """Let a fork not outlive the helper, whose pipe it would hold open, nor work for ever."""
    signal.alarm(round(_TIMEOUT_S) + 1)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != helper:
        os._exit(1)


class HelperProcess:
    """One running helper: ``python -c "from MODULE import serve; serve()"``."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, request: Mapping[str, Any]) -> Iterator[Frame]:
        """The frames of the answer, as they arrive.

        Raises:
            EngineFailed: ``speech_engine_crashed`` (retryable; the next call starts a new process), or what the
                helper itself reported.
        """
        process = self._running()
        timer = threading.Timer(_TIMEOUT_S, process.kill)
        timer.daemon = True
        timer.start()
        finished = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            write_frame(process.stdin, request)
            while (frame := read_frame(process.stdout)) is not None:
                header, _ = frame
                if "error" in header:
                    finished = bool(header.get("end"))
                    raise EngineFailed(
                        header["error"], code=header.get("code"), retryable=header.get("retryable", False)
                    )
                if header.get("end"):
                    finished = True
                    return
                yield frame
            raise self._crashed()
        except OSError as error:
            raise self._crashed() from error
        finally:
            timer.cancel()
            if not finished:  # what is left in the pipe belongs to nobody
                self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            self._process = None

    def _crashed(self) -> SpokesmodelError:
        return EngineFailed(
            "The speech engine stopped in the middle of its work; try again.",
            code="speech_engine_crashed",
            retryable=True,
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        code = f"import sys; sys.path[:] = {_import_path()!r}; from {self._module} import serve; serve()"
        self._process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process


def _import_path() -> list[str]:
    """The caller's import path, without the folder of its script and the current one, where a ``piper.py`` may lie.

    The folder of this product comes last: it may be a checkout that is not installed.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    dropped = {Path.cwd().resolve(), *([Path(script).resolve().parent] if script else [])}
    kept = [entry for entry in sys.path if Path(entry).resolve() not in dropped]
    return [*kept, str(Path(__file__).resolve().parents[2])]


class HelperPool:
    """Up to ``size`` helpers of one kind, each used by one caller at a time; started when first needed."""

    def __init__(self, module: str, *, size: int) -> None:
        self._make: Callable[[], HelperProcess] = lambda: HelperProcess(module)
        self._idle: queue.LifoQueue[HelperProcess | None] = queue.LifoQueue()
        self._all: list[HelperProcess] = []
        for _ in range(size):
            self._idle.put(None)
        atexit.register(self.close)

    @contextmanager
    def helper(self) -> Iterator[HelperProcess]:
        """A free helper, waiting for one if all are busy."""
        helper = self._idle.get()
        if helper is None:
            helper = self._make()
            self._all.append(helper)
        try:
            yield helper
        finally:
            self._idle.put(helper)

    def close(self) -> None:
        for helper in self._all:
            helper.close()
