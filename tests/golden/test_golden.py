# SPDX-License-Identifier: Apache-2.0
"""What kgbench makes of one small store is what the golden files say."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kgbench.serve.app import application
from kgbench.serve.settings import Settings
from kgbench.tasks import protection
from tests.golden import store
from tests.golden.outputs import OF_FAMILIES, OF_PUBLICATION, OF_STORE, PUBLISH, Small
from tests.serve.conftest import LIMITS

FILES = Path(__file__).parent / "files"
RENEW = "RENEW_GOLDEN" in os.environ
SHOWN = 40  # lines of a difference


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """Yield the small store with a server."""
    folder = tmp_path_factory.mktemp("golden")
    said = store.make(folder)
    settings = Settings(location=str(folder / "store"), limits=LIMITS)
    with TestClient(application(settings)) as client:
        yield Small(folder, client, said)


@pytest.fixture(scope="module")
def site(small: Small) -> Path:
    """Publish a run and return the folder."""
    small.asked(*PUBLISH, "--out", small.folder / "site")
    return small.folder / "site"


def compare(name: str, text: str) -> None:
    """Fail with the first differences from a golden file; when renewing, write it instead."""
    path = FILES / name
    text = f"{protection.canary_line()}\n{text.rstrip()}\n"
    if RENEW:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    golden = path.read_text("utf-8").splitlines() if path.exists() else []
    differences = [
        *difflib.unified_diff(golden, text.splitlines(), "golden", "made", "", "", 1, "")
    ]
    assert not differences, "\n".join(differences[:SHOWN])


@pytest.mark.parametrize("name", OF_FAMILIES)
def test_families_are_golden(name):
    """Worlds, cases and verdicts of generated families stay as they are in a version."""
    compare(name, "\n".join(OF_FAMILIES[name]()))


@pytest.mark.parametrize("name", OF_STORE)
def test_store_is_golden(small, name):
    """Recorded triples, analyses, reports of commands and pages stay as they are."""
    compare(name, OF_STORE[name](small))


@pytest.mark.parametrize("name", OF_PUBLICATION)
def test_publication_is_golden(small, site, name):
    """A publication, what its check says and what others harvest stay as they are."""
    compare(name, OF_PUBLICATION[name](small, site))


def test_each_golden_file_is_made():
    """No file is left over."""
    made = {*OF_FAMILIES, *OF_STORE, *OF_PUBLICATION}
    left = set(FILES.rglob("*.*")) - {FILES / name for name in made}
    if RENEW:
        for path in left:
            path.unlink()
        left.clear()

    assert not left
