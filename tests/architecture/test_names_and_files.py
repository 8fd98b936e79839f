"""Names, folders and sizes."""

from __future__ import annotations

import ast
import re
import warnings

import pytest

from tests.architecture.repository import PACKAGES, ROOT, python_files, tracked_files

GRAB_BAGS = {"util", "utils", "common", "helper", "helpers", "misc", "manager", "managers", "shared", "stuff"}
# Paths of one machine, and hosts of package mirrors, have no place in a repository.
MACHINE = re.compile(
    r"(?<![\w.}])/(?:work|root|home/\w+|Users/\w+|mnt/\w+)/|[A-Z]:\\\\Users|(?i:--?index-url\s*=?\s*https?://|artifactory|nexus\.)"
)
LIMITS = {
    "services/domain": 150,
    "services/usecases": 150,
    "services/ports": 150,
    "services/adapters": 250,
    "lambdas": 250,
}
LARGEST = 400


def test_no_module_is_a_grab_bag():
    found = [path for path in tracked_files() if path.stem in GRAB_BAGS and path.suffix == ".py"]
    assert found == []


@pytest.mark.parametrize("package", [*PACKAGES, "tests", "benchmarks"])
def test_every_folder_of_code_says_what_lives_there(package):
    folders = {path.parent for path in python_files(package)}
    silent = []
    for folder in folders:
        init = folder / "__init__.py"
        says = init.is_file() and ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
        if not says and not (folder / "README.md").is_file():
            silent.append(str(folder.relative_to(ROOT)))
    assert silent == []


def test_every_module_of_the_product_says_what_it_holds():
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_file_names_this_machine_or_a_package_mirror():
    found = []
    for path in tracked_files():
        if (
            path.suffix in {".png", ".jpg", ".webp", ".mp4", ".wav", ".npz", ".safetensors"}
            or path.name == "test_names_and_files.py"
        ):
            continue
        match = MACHINE.search(path.read_text(encoding="utf-8", errors="replace"))
        if match:
            found.append(f"{path.relative_to(ROOT)}: {match.group(0)}")
    assert found == []


def test_nothing_large_is_committed():
    """Model files come from packages; pictures of the documents are small. Our own checkpoint has 13 MB."""
    own = [path for path in tracked_files() if ROOT / "models" / "diffusion" / "drawn64" / "weights" in path.parents]
    large = [
        str(path.relative_to(ROOT)) for path in tracked_files() if path.stat().st_size > 1_500_000 and path not in own
    ]
    assert large == []
    assert sum(path.stat().st_size for path in own) < 13_000_000


def test_no_file_is_larger_than_the_largest_guide():
    """Sizes above a folder's guide are told, as warnings; above the largest, a docstring says why."""
    unexplained = []
    for path in python_files():
        name = str(path.relative_to(ROOT))
        text = path.read_text(encoding="utf-8")
        num_lines = text.count("\n")
        guide = next((limit for folder, limit in LIMITS.items() if name.startswith(folder)), LARGEST)
        if num_lines > guide:
            warnings.warn(f"{name} has {num_lines} lines; the guide is {guide}", stacklevel=1)
        if num_lines > LARGEST and "longer" not in (ast.get_docstring(ast.parse(text)) or "").lower():
            unexplained.append(f"{name}: {num_lines}")
    assert unexplained == []
