# SPDX-License-Identifier: Apache-2.0
"""Every export writes recorded texts with characters that its format cannot hold as they are."""

from __future__ import annotations

import base64
import csv
import io
import json

import pyoxigraph as ox
import pytest

from kgbench.rdf import digest
from kgbench.vocab import BASE, KGB, XSD
from tests.serve import stores
from tests.support.commands import printed as call

#: NUL, escape, a noncharacter, the end of a CDATA section, quotes, lines and a formula.
HOSTILE = "=1+1\x00\x1b[31m\ufffe]]>\r\n\"'&<b>\u202e\U0001f600"
#: A lone surrogate: infos are JSON, which escapes it; answers have their bytes beside the text.
INFOS = json.dumps({"letters": "\ud800" + HOSTILE, "list": ["\udfff"]})
ANSWER = ":a :b \\ud800"
FILES = (
    *(("table", "--format", form) for form in ("csv", "json", "xlsx", "parquet", "arrow")),
    *(("prov", "--format", form) for form in ("provn", "json", "xml", "rdf")),
    ("llm-kg-bench",),
)
FOLDERS = (("croissant",), ("rocrate",), ("notebook",), ("eee",), ("inspect",))
OPTIONS = ("--unprotected", "kgbench-1")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store whose prompts, answers and infos are hostile."""
    texts = {
        **dict.fromkeys(("a-n-n-e", "Spell anne.", "That does not parse."), HOSTILE),
        '{"letters":4}': INFOS,
    }
    text = ox.NamedNode(f"{BASE}run/1/text/{digest(':a :b :c .')}")
    original = ox.Literal(
        base64.b64encode(b":a :b \xed\xa0\x80").decode(), datatype=ox.NamedNode(XSD.base64Binary)
    )
    graph = ox.NamedNode(f"{BASE}graph/run/1")
    quad = ox.Quad(text, ox.NamedNode(KGB.originalBytes), original, graph)
    return stores.make(tmp_path_factory.mktemp("hostile") / "store", texts=texts, extra=[quad])


def exported(store, out, *arguments):
    """Export the newest run of the store to ``out``."""
    if arguments[0] in ("croissant", "rocrate"):
        arguments = (*arguments, "--licence", "CC-BY-4.0", "--creator", "A B")
    call("export", arguments[0], "1", *arguments[1:], "--store", store, "--out", out, *OPTIONS)
    return out


@pytest.mark.parametrize("arguments", FILES, ids="-".join)
def test_files_are_written(store, tmp_path, arguments):
    """Each file is written."""
    assert exported(store, tmp_path / "file", *arguments).stat().st_size


@pytest.mark.parametrize("arguments", FOLDERS, ids="-".join)
def test_folders_are_written(store, tmp_path, arguments):
    """Each folder is written."""
    assert list(exported(store, tmp_path / "folder", *arguments).iterdir())


def test_tables_show_lone_surrogates_escaped(store, tmp_path):
    """All formats of the table have the same texts, with lone surrogates as JSON escapes."""
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    paths = {
        form: exported(store, tmp_path / form, "table", "--format", form)
        for form in ("csv", "json", "parquet", "arrow")
    }
    content = paths["csv"].read_bytes().decode("utf-8")
    tables = [
        list(csv.DictReader(io.StringIO(content, newline=""))),
        json.loads(paths["json"].read_text(encoding="utf-8"))["rows"],
        parquet.read_table(paths["parquet"]).to_pylist(),
        feather.read_table(paths["arrow"]).to_pylist(),
    ]
    for rows in tables:
        assert {row["info_letters"] for row in rows} >= {"\\ud800" + HOSTILE}
        assert {row["answer"] for row in rows} >= {HOSTILE, ANSWER}


def test_provenance_as_xml_is_read_by_parsers(store, tmp_path):
    """PROV-XML escapes the characters that XML excludes, and keeps all others."""
    etree = pytest.importorskip("lxml.etree")
    document = etree.parse(exported(store, tmp_path / "p.xml", "prov", "--format", "xml"))
    values = {element.text for element in document.iter("{*}value")}
    assert (
        HOSTILE.replace("\x00", "\\x00").replace("\x1b", "\\x1b").replace("\ufffe", "\\ufffe")
        in values
    )
