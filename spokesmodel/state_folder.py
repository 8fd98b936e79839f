"""A state folder belongs to one runner at a time; others find out where that one listens."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from services.domain.errors import Unavailable
from spokesmodel.first_start import write_private

_LOCK: Final = "runner.lock"
_ADDRESS: Final = "runner.json"
API_KEY_FILE: Final = "api_key"
WORKERS_LOG: Final = "workers.log"
_FILES: Final = (_LOCK, WORKERS_LOG, "*.sqlite*")  # every store's, also of those that come later
_FOLDERS: Final = ("objects", "incoming", "scratch")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """Where the runner of a state folder listens, and the key of its first tenant."""

    url: str
    api_key: str


class StateFolder:
    """The exclusive use of ``path``, until closed or until this process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        """Raises:
        Unavailable: ``state_dir_in_use``, or ``store_unavailable`` when the folder cannot be made.
        """
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)  # customers' faces and voices
            self._lock: IO[str] = (path / _LOCK).open("a")
        except OSError as error:
            raise Unavailable(
                f"The state folder {path} cannot be used: {error.strerror}.", code="store_unavailable", retryable=False
            ) from error
        if not _lock(self._lock):
            self._lock.close()
            raise Unavailable(f"Another runner uses the state folder {path}.", code="state_dir_in_use")

    @property
    def is_open(self) -> bool:
        """Whether other users of this machine may look into the folder, as into one that was there before."""
        return bool(self.path.stat().st_mode & 0o077)

    def make_private(self) -> None:
        """Keep other users out of everything that a runner stores, whatever the folder itself allows.

        The folder is the user's choice and stays as it is. Files that SQLite makes beside a database have its mode.
        """
        for name in _FOLDERS:
            (self.path / name).mkdir(mode=0o700, exist_ok=True)
            (self.path / name).chmod(0o700)
        for name in _FILES:
            for path in self.path.glob(name):
                path.chmod(0o600)

    def tell_address(self, url: str) -> None:
        """Let others on this machine find the runner."""
        write_private(self.path / _ADDRESS, json.dumps({"url": url, "pid": os.getpid()}))

    def close(self) -> None:
        """Let others have the folder."""
        (self.path / _ADDRESS).unlink(missing_ok=True)
        self._lock.close()


def running_server(path: Path) -> RunningServer | None:
    """The runner that uses the state folder at ``path``, if one does and has told where it listens."""
    try:
        with (path / _LOCK).open("a") as file:
            if _lock(file):
                return None
        url = json.loads((path / _ADDRESS).read_text())["url"]
        return RunningServer(url=url, api_key=(path / API_KEY_FILE).read_text().strip())
    except (OSError, ValueError, KeyError):
        return None


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
