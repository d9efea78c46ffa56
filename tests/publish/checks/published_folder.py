# SPDX-License-Identifier: Apache-2.0
"""A small published folder, made once, and a copy that tests spoil and restore."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import zstandard

from kgbench.publish.redaction import DigestVeil, RedactionLevel
from kgbench.publish.settings import Agent, DatasetDescription, Settings
from kgbench.publish.site import publish
from kgbench.store.fragments import recorded_iri
from kgbench.store.publication_keys import PublicationKey
from tests.support.analysis_store import owned

BASE = "https://w3id.org/example/bench/"
NAMES = ("dragonhost",)  # names that the checks take for those of this machine and its user
SUMS = "SHA256SUMS"
KEY = PublicationKey(bytes(32))  # a known key, so that veiled IRIs are always the same
VEIL = DigestVeil(KEY)


def publish_sample(folder: Path) -> Path:
    """Publish the sample of every kind of record, without its prompts; return the folder."""
    owned("result", str(folder / "store")).close()
    KEY.keep(folder / "store")
    about = DatasetDescription(
        licence="https://spdx.org/licenses/CC-BY-4.0", creators=(Agent("Ada Lovelace"),)
    )
    settings = Settings(
        location=str(folder / "store"),
        out=folder / "site",
        base=BASE,
        level=RedactionLevel.PROMPTS,
        metadata=about,
        endpoint="https://example.org/sparql",
        processes=1,
    )
    publish(settings, lambda *_: None)
    return folder / "site"


class Copy:
    """A copy of a folder; files that a test writes or removes are restored after it."""

    def __init__(self, whole: Path, path: Path) -> None:
        self.whole = whole
        self.path = Path(shutil.copytree(whole, path, copy_function=os.link))
        self._touched: set[str] = set()

    def text(self, name: str) -> str:
        """Return the text of a file."""
        return (self.path / name).read_text(encoding="utf-8")

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return (self.path / name).stat().st_size

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._touched.add(name)
        (self.path / name).unlink(missing_ok=True)

    def write(self, name: str, content: bytes | str, *, counted: bool = True) -> None:
        """Write a file anew; ``counted`` corrects its checksum as well."""
        data = content.encode() if isinstance(content, str) else content
        self.remove(name)
        (self.path / name).write_bytes(data)
        line = next((one for one in self.text(SUMS).splitlines() if one.endswith(f"  {name}")), "")
        if counted and line:
            self.replace(SUMS, line[:64], hashlib.sha256(data).hexdigest())

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file, which must contain it."""
        text = self.text(name)
        assert old in text, f"{name} does not hold {old}"
        self.write(name, text.replace(old, new))

    def state(
        self, name: str, change: Callable[[ox.Triple], ox.Triple | None], count: int | None = None
    ) -> None:
        """Change the statements of a Turtle file, or remove them (``None``)."""
        stated = list(ox.parse(self.text(name), format=ox.RdfFormat.TURTLE))
        kept = [change(quad.triple) for quad in stated]
        changed = sum(one != quad.triple for one, quad in zip(kept, stated, strict=True))
        assert changed == (count or changed) > 0, f"{changed} statements of {name} are changed"
        text = ox.serialize([one for one in kept if one], format=ox.RdfFormat.TURTLE)
        assert text is not None
        self.write(name, text)

    def dump(self, name: str, change: Callable[[bytes], bytes], *, counted: bool = True) -> None:
        """Change the content of a dump."""
        packed = zstandard.ZstdCompressor().compress(change(unpacked(self.path / name)))
        self.write(name, packed, counted=counted)

    def mend(self) -> None:
        """Restore the copy."""
        for name in self._touched:
            (self.path / name).unlink(missing_ok=True)
            if (self.whole / name).is_file():
                os.link(self.whole / name, self.path / name)
        self._touched.clear()


def unpacked(path: Path) -> bytes:
    """Return the uncompressed content of a dump."""
    reader = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(path.read_bytes()), read_across_frames=True
    )
    return reader.read()


def quads(site: Path) -> ox.Store:
    """Return all quads of the dumps, with parts of dialogues named as in the store."""

    def back(term: Any) -> Any:
        return ox.NamedNode(recorded_iri(term.value)) if isinstance(term, ox.NamedNode) else term

    store = ox.Store()
    found = ox.parse(unpacked(site / "data" / "all.nq.zst"), ox.RdfFormat.N_QUADS)
    store.bulk_extend(ox.Quad(back(s), p, back(o), g) for s, p, o, g in found)
    return store
