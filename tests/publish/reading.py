# SPDX-License-Identifier: Apache-2.0
"""Reads publications: links of pages, RDF, dumps, every byte of every file."""

from __future__ import annotations

import gzip
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pyoxigraph as ox
import pyzipper
import zstandard

FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
}


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []
        self.ids = set()
        self.scripts = []
        self._script = None

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.add(found["id"])
        for name in ("href", "src"):
            if found.get(name) and not found[name].startswith("data:"):
                self.links.append((tag, found[name], found.get("type")))
        if tag == "script" and "src" in found:
            own = found["src"].removeprefix("../" * found["src"].count("../")).removeprefix("./")
            assert re.fullmatch(r"static/[a-z]+\.js", own), "a page runs no scripts but ours"
        elif tag == "script":
            assert found.get("type") == "application/ld+json", "a page must not run scripts"
            self._script = ""

    def handle_data(self, data):
        if self._script is not None:
            self._script += data

    def handle_endtag(self, tag):
        if tag == "script" and self._script is not None:
            self.scripts.append(json.loads(self._script))
            self._script = None


def page(text):
    """Return the links of a page (tag, target, type), its fragments and its embedded JSON-LD."""
    parser = _Links()
    parser.feed(text)
    return parser


def unpacked(path, password=None):
    """Return the uncompressed content of a dump."""
    data = Path(path).read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zip":
        with pyzipper.AESZipFile(io.BytesIO(data)) as archive:
            archive.setpassword(password.encode())
            (name,) = archive.namelist()
            return archive.read(name)
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
    return reader.read()


def everything(folder, password=None):
    """Yield the paths and contents of all files, with dumps unpacked."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            packed = path.suffix in (".zst", ".gz", ".zip")
            yield (
                path.relative_to(folder),
                unpacked(path, password) if packed else path.read_bytes(),
            )


def load(store, path, *, password=None, base=None):
    """Load one RDF file, a dump or a document; its name gives the format."""
    packed = path.suffix in (".zst", ".gz", ".zip")
    data = unpacked(path, password) if packed else path.read_bytes()
    kind = FORMATS[Path(path.stem).suffix if packed else path.suffix]
    store.load(data, kind, base_iri=base)


def dump(folder, name, password=None):
    """Return the quads of a dump, such as ``all.nq``."""
    store = ox.Store()
    (path,) = (folder / "data").glob(f"{name}.*")
    load(store, path, password=password)
    return store


def triples(store):
    """Return the triples of a store, without graphs."""
    return {quad.triple for quad in store}
