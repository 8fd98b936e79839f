"""Links of the documents, and the checker itself."""

from __future__ import annotations

import pytest

from tests.architecture import links
from tests.architecture.repository import tracked_files


def test_every_link_of_the_documents_leads_somewhere():
    assert links.broken_links([path for path in tracked_files() if path.suffix == ".md"]) == []


@pytest.mark.parametrize(
    ("text", "num_broken"),
    [
        ("[there](other.md)", 0),
        ("[there](other.md#a-heading)", 0),
        ("[there](other.md#no-heading)", 1),
        ("[gone](gone.md)", 1),
        ("![picture](gone.png)", 1),
        ('<img src="gone.png" width="3">', 1),
        ("# Here\n[here](#here) [not](#there)", 1),
        ("[ref]\n\n[ref]: gone.md", 1),
        ("[out](https://example.com/gone.md) [mail](mailto:a@b.example)", 0),
        ("```\n[code](gone.md)\n```\n`[code](gone.md)`", 0),
        ("[rooted](/other.md)", 1),
        ("[spaces](my%20file.md)", 0),
    ],
)
def test_broken_links_are_found_and_only_those(tmp_path, text, num_broken):
    (tmp_path / "other.md").write_text("# A heading\n")
    (tmp_path / "my file.md").write_text("x")
    page = tmp_path / "page.md"
    page.write_text(text)
    assert len(links.broken_links([page])) == num_broken


def test_anchors_are_githubs():
    text = (
        "# What works, what not\n## `make demo`\n## Twice\n## Twice\n## [A link](x.md) & more\n```\n# no heading\n```\n"
    )
    assert links.anchors(text) == {"what-works-what-not", "make-demo", "twice", "twice-1", "a-link--more"}
