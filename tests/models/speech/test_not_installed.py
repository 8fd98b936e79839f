"""Without the extra ``speech`` the product still imports, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from models import weights
from models.speech import synthesizer
from services.domain.errors import Unavailable

BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("espeakng_loader", "piper", "pykakasi", "pypinyin", "pocketsphinx"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
import importlib.util
find = importlib.util.find_spec
gone = ("espeakng_loader", "piper")
importlib.util.find_spec = lambda name, package=None: None if name in gone else find(name, package)
from models.speech import synthesizer
from services.domain.errors import Unavailable
try:
    synthesizer(VOICE)
except Unavailable as error:
    print(error.code, error.retryable, error.detail)
"""


@pytest.mark.parametrize("voice_id", ["en-us", "piper-joe", "xx"])
def test_a_voice_without_the_extra_says_how_to_get_it(voice_id):
    code = BLOCKED.replace("VOICE", repr(voice_id))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("voice_not_installed False ")
    assert "pip install 'spokesmodel[speech]'" in run.stdout


def test_a_voice_without_its_weights_says_how_to_fetch_them(monkeypatch, tmp_path):
    pytest.importorskip("piper")
    monkeypatch.setattr(weights, "directory", lambda: tmp_path)
    with pytest.raises(Unavailable, match=r"python -m models\.weights") as caught:
        synthesizer("piper-joe")
    assert caught.value.code == "voice_not_installed"


def test_importing_the_package_loads_no_engine():
    engines = ("numpy", "piper", "espeakng_loader", "babel")
    code = f"import sys, models.speech; print([name for name in {engines} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
