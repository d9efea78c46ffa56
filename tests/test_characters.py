# SPDX-License-Identifier: Apache-2.0
"""Any output of models leaves documents well-formed, and terminals and spreadsheets safe."""

from __future__ import annotations

import csv
import io
import os
import pty
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.characters import XmlSink, spreadsheet_safe, visible, xml_bytes
from kgbench.pages.rendering import serialised
from kgbench.rdf import canonical_json
from kgbench.store import open_store
from kgbench.tables import Column, Kind, Table
from kgbench.tables.rendering import as_csv, as_latex, as_markdown

HOSTILE = "a\x01\x0b\x1b[31mb\rc\ufffe\uffff\u202e<&>\x7f"
#: Literals have all of Unicode except surrogates.
TEXTS = st.text(st.characters(codec="utf-8"))


def results(text):
    """Return solutions with one literal, serialised as XML."""
    out = io.BytesIO()
    sink = XmlSink(out)
    solutions = ox.Store().query(f"SELECT ?a {{ VALUES ?a {{ {ox.Literal(text)} }} }}")
    solutions.serialize(sink, ox.QueryResultsFormat.XML)
    sink.flush()
    return out.getvalue()


@given(TEXTS)
def test_results_in_xml_are_well_formed(text):
    """Any literal can be parsed, and is unchanged if XML can represent it."""
    (literal,) = ET.fromstring(results(text)).iter(
        "{http://www.w3.org/2005/sparql-results#}literal"
    )
    found = literal.text or ""
    if not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text):
        assert found == text
    else:
        assert len(found) > len(text)


@given(TEXTS)
def test_graphs_in_rdf_xml_are_well_formed(text):
    """A graph with any literal can be parsed as RDF/XML."""
    names = (ox.NamedNode("urn:a"), ox.NamedNode("urn:p/q"))
    document = serialised([ox.Quad(*names, ox.Literal(text))], "rdf")
    ET.fromstring(document)
    (quad,) = ox.parse(document, ox.RdfFormat.RDF_XML)
    assert quad.subject == names[0]


@given(st.binary(), st.lists(st.integers(0, 40)))
def test_pieces_give_what_the_whole_gives(document, cuts):
    """A document cut anywhere in transit gives the same output."""
    out = io.BytesIO()
    sink = XmlSink(out)
    begin = 0
    for cut in sorted(cuts):
        assert sink.write(document[begin:cut]) == len(document[begin:cut])
        begin = max(begin, cut)
    sink.write(document[begin:])
    sink.flush()
    assert out.getvalue() == xml_bytes(document)


def test_json_has_no_infinity():
    """Infinite numbers, at any depth, become the texts that XSD has for them."""
    value = {"a": [1e999, -1e999, float("nan"), 0.5], "b": {"c": float("inf")}}
    assert canonical_json(value) == '{"a":["INF","-INF","NaN",0.5],"b":{"c":"INF"}}'


def table(*cells):
    """Return a table with one row."""
    columns = [Column(f"c{place}", "C") for place, _ in enumerate(cells)]
    return Table("T", tuple(columns), (cells,))


def test_formulas_become_text_where_that_is_asked_for():
    """An apostrophe precedes text that a spreadsheet would execute; numbers stay numbers."""
    hostile = ("=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "\t=1", "\uff1d1", "plain", -0.5)
    safe, changed = table(*hostile).spreadsheet_safe()
    assert changed == 6
    assert safe.rows[0] == (*(f"'{cell}" for cell in hostile[:6]), "plain", -0.5)
    assert spreadsheet_safe([]) == ([], 0)


def test_lines_of_csv_end_as_asked():
    """Lines end in LF, for shell tools, or in CR LF; values keep their own line ends."""
    one = table("a\r\nb", "c")
    assert as_csv(one) == 'c0,c1\n"a\r\nb",c\n'
    assert as_csv(one, "\r\n") == 'c0,c1\r\n"a\r\nb",c\r\n'
    assert list(csv.reader(io.StringIO(as_csv(one), newline="")))[1] == ["a\r\nb", "c"]


@given(TEXTS)
def test_no_cell_of_latex_is_an_argument(text):
    """No row begins with a bracket, which LaTeX would read as an argument of the row end."""
    rows = as_latex(table(text, "x")).splitlines()
    assert not any(line.lstrip().startswith("[") for line in rows)


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "![x](http://h/)", "`a`", "*a*", "<b>", "a|b", "_a_"]
)
def test_markdown_shows_what_was_written(text):
    """No cell creates a link, picture, code, emphasis, element or column."""
    shown = as_markdown(table(text)).splitlines()[-1]
    assert not re.search(r"(?<!\\)[\[\]`*_<]", shown.strip("| "))
    assert len(re.findall(r"(?<!\\)\|", shown)) == 2


def test_marks_stay_bold_in_markdown():
    """Marks of kgbench itself are bold."""
    marked = Table("T", (Column("m", "M", Kind.MARK),), (("**TTL_1**",),))
    assert as_markdown(marked).splitlines()[-1] == "| **TTL\\_1** |"


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    """Return the location of a store without results."""
    place = tmp_path_factory.mktemp("store") / "store"
    with open_store(str(place)):
        return str(place)


def at_terminal(command):
    """Return the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL, close_fds=True)
    os.close(theirs)
    found = b""
    try:
        while piece := os.read(ours, 1 << 16):
            found += piece
    except OSError:  # raised on Linux when the terminal is closed
        pass
    finally:
        os.close(ours)
        process.wait(60)
    return found.decode("utf-8")


@pytest.mark.parametrize("form", ["csv", "tsv", "xml", "json", "table"])
def test_no_format_steers_a_terminal(form, location, tmp_path):
    """Output on a terminal contains no control characters."""
    query = tmp_path / "q.rq"
    query.write_text(f"SELECT ({ox.Literal(HOSTILE)} AS ?a) {{}}", encoding="utf-8")
    command = [sys.executable, "-m", "kgbench", "query", str(query), "-f", form]
    found = at_terminal([*command, "--store", location])
    assert "31m" in found
    assert visible(found.replace("\r\n", "\n")) == found.replace("\r\n", "\n")


def test_a_terminal_of_another_encoding_ends_no_command(location, tmp_path):
    """A table uses the characters of ISO 8859-1, and escapes all others."""
    query = tmp_path / "q.rq"
    query.write_text('SELECT ("\u2192 \u00e9" AS ?a) {}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kgbench", "query", str(query), "--store", location],
        env={**os.environ, "PYTHONIOENCODING": "iso-8859-1"},
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode("iso-8859-1")
    assert "\\u2192 \u00e9" in text
    assert "---" in text
