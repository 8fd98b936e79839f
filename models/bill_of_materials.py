"""The model files' part of the software bill of materials: ``python -m models.bill_of_materials FILE`` adds them.

The file is CycloneDX JSON as the generator wrote it for the installed packages (``make sbom``). Each model file becomes
a component with its checksum, licence and source.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from models.weights import WeightFile, manifest


def component_of(file: WeightFile) -> dict[str, Any]:
    """A model file as a CycloneDX 1.6 component."""
    is_model = not file.member.lower().endswith((".jpg", ".png", ".wav"))
    return {
        "type": "machine-learning-model" if is_model else "data",
        "bom-ref": f"weights/{file.name}",
        "name": file.name,
        "version": file.sha256[:12],
        "description": file.purpose,
        "hashes": [{"alg": "SHA-256", "content": file.sha256}],
        "licenses": [{"license": {"name": file.licence}}],
        "properties": [
            {"name": "spokesmodel:source", "value": file.source},
            {"name": "spokesmodel:member", "value": file.member},
            {"name": "spokesmodel:commercial_use", "value": str(file.commercial_use).lower()},
            {"name": "spokesmodel:size_bytes", "value": str(file.size_bytes)},
        ],
        **_purl(file.source),
    }


def add_weights(bill: dict[str, Any]) -> dict[str, Any]:
    """``bill`` with a component for every file of the manifest, each once."""
    ours = [component_of(file) for file in manifest().values()]
    references = {component["bom-ref"] for component in ours}
    others = [one for one in bill.get("components", ()) if one.get("bom-ref") not in references]
    return {**bill, "components": [*others, *ours]}


def _purl(source: str) -> dict[str, str]:
    scheme, _, rest = source.partition(":")
    name, _, version = rest.partition("==")
    return {"purl": f"pkg:pypi/{quote(name.lower())}@{quote(version)}"} if scheme == "pypi" else {}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(json.dumps(add_weights(json.loads(path.read_text(encoding="utf-8"))), indent=2) + "\n")
