# SPDX-License-Identifier: Apache-2.0
"""The page about publishing describes the files of the folder."""

from __future__ import annotations

import re

import pytest

from kgbench.publish import settings
from tests.publish.reading import dump


@pytest.fixture(scope="module")
def text(repository):
    """Return the text of the page."""
    return (repository / "docs" / "publish.md").read_text(encoding="utf-8")


def test_the_example_can_be_read(text, tmp_path):
    """The example description is a valid description of a data set."""
    (turtle,) = re.findall(r"```turtle\n(.*?)```", text, re.DOTALL)
    (tmp_path / "about.ttl").write_text(turtle, encoding="utf-8")
    found = settings.read(tmp_path / "about.ttl")
    assert [one.name for one in found.creators] == ["Ada Example"]
    assert found.licence == "https://spdx.org/licenses/CC-BY-4.0"
    assert len(found.sources) == 1


def test_every_file_is_named(text, site):
    """The table names every file of the folder, and every file that it names exists."""
    (table,) = re.findall(r"\| file \| what it holds \|\n(.*?)\n\n", text, re.DOTALL)
    named = " ".join(row.split("|")[1] for row in table.splitlines())
    root = {path.name for path in site.iterdir() if path.is_file()}
    for name in root:
        stem = name.partition(".")[0]
        place = (site / f"{stem}.jsonld").is_file() and (site / stem).is_dir()
        assert name in named or stem in named or place, name
    for pattern in re.findall(r"`([^`]*)`", named):
        if "/" not in pattern or any(word in pattern for word in ("PATH", "KIND", "MODEL")):
            continue
        glob = re.sub(r"\b(ID|SUITE|NAME|DIGEST|N)\b", "*", pattern)
        if glob == "data/other.nq.zst":  # there are neither analyses nor invalidations
            continue
        assert list(site.glob(glob)), pattern
    assert len(dump(site, "catalogue.nq")) > 1_000
