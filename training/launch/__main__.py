"""``python -m training.launch``: what the training container starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

# Where SageMaker shows the reason of a failed training job; the folder is there in its containers only.
_FAILURE: Final = Path("/opt/ml/output/failure")
_REASON: Final = "training_not_included: this image prepares datasets (`prepare`); training in it is still to come."
_NOT_INCLUDED: Final = 69  # EX_UNAVAILABLE of sysexits.h


def main() -> int:
    """``prepare`` prepares a dataset. Else say that nothing is trained; the status says that trying again is no use."""
    if sys.argv[1:2] == ["prepare"]:
        from training.launch.prepare import main as prepare

        return prepare(sys.argv[2:])
    sys.stderr.write(_REASON + "\n")
    if _FAILURE.parent.is_dir():
        _FAILURE.write_text(_REASON)
    return _NOT_INCLUDED


if __name__ == "__main__":
    sys.exit(main())
