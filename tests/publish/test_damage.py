# SPDX-License-Identifier: Apache-2.0
"""Damaged manifests and archives are recognised by their content."""

from __future__ import annotations

import json
import tracemalloc
import zipfile

import pytest
import zstandard

from kgbench.errors import PublicationRefused
from kgbench.publish import dumps
from kgbench.publish.folder import read_manifest

WHOLE = {"base": "https://example.org/b/", "units": {}, "versions": []}


def read(folder, found):
    """Return the manifest that the text ``found`` is read as."""
    (folder.state / "manifest.json").write_text(found)
    return read_manifest(folder)


@pytest.mark.parametrize(
    "found",
    [
        "{",
        "[]",
        "null",
        json.dumps({**WHOLE, "base": None}),
        json.dumps({**WHOLE, "units": None}),
        json.dumps({**WHOLE, "units": {"a": None}}),
        json.dumps({**WHOLE, "versions": [None]}),
        json.dumps({**WHOLE, "versions": [{"number": 1}]}),
        json.dumps({"units": {}, "versions": []}),
    ],
)
def test_a_manifest_that_is_none_is_refused(folder, found):
    """An invalid manifest is refused with a message that names the file."""
    with pytest.raises(PublicationRefused, match=r"manifest\.json cannot be read"):
        read(folder, found)


def test_a_manifest_is_read_as_written(folder):
    """A manifest without versions is valid: it is the start of a publication."""
    assert read(folder, json.dumps(WHOLE)).base == WHOLE["base"]


@pytest.mark.parametrize("path", ["../mine.txt", "/etc/hosts", "run/../../mine.txt"])
def test_files_outside_the_folder_are_not_ours(folder, path):
    """A manifest that lists files outside the folder, which would be removed, is refused."""
    unit = {"key": "", "dumps": [], "files": {path: "0" * 64}}
    with pytest.raises(PublicationRefused, match=f"names {path}, which is outside the folder"):
        read(folder, json.dumps({**WHOLE, "units": {"a": unit}}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"x" * 300])
def test_a_damaged_archive_is_unreadable(tmp_path, content):
    """A damaged archive raises Unreadable, which the check reports."""
    path = tmp_path / "all.nq.zip"
    path.write_bytes(content)

    with pytest.raises(dumps.Unreadable), dumps.opened(path, "secret"):
        pass


def test_an_empty_archive_is_unreadable(tmp_path):
    """An archive without files is reported as empty."""
    path = tmp_path / "all.nq.zip"
    with zipfile.ZipFile(path, "w"):
        pass

    with (
        pytest.raises(dumps.Unreadable, match="archive is empty"),
        dumps.opened(path, "secret"),
    ):
        pass


def test_a_small_file_does_not_fill_the_memory(tmp_path):
    """A compression bomb is unpacked piece by piece."""
    path = tmp_path / "all.nq.zst"
    million = b" " * (1 << 20)
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as out:
        for _ in range(512):
            out.write(million)
    assert path.stat().st_size < 1 << 16
    with dumps.opened(path, None) as content:
        tracemalloc.start()
        content.read(1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (
            sum(len(piece) for piece in iter(lambda: content.read(1 << 20), b"")) == (1 << 29) - 1
        )
    assert peak < 300 << 20
