# SPDX-License-Identifier: Apache-2.0
"""Tables as spreadsheets."""

import zipfile
from io import BytesIO
from xml.etree import ElementTree as ET

from kgbench.tables import Column, Kind, Table
from kgbench.tables.xlsx import as_xlsx


def sheets(content):
    """Return the cells of each sheet of a workbook, row by row, and the names of its parts."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        parts = {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}
    shared = ["".join(one.itertext()) for one in parts["xl/sharedStrings.xml"]]
    found = []
    for k in (1, 2):
        rows = parts[f"xl/worksheets/sheet{k}.xml"].iter(f"{MAIN}row")
        found.append(
            [
                [shared[int(text_of(c))] if c.get("t") == "s" else text_of(c) for c in row]
                for row in rows
            ]
        )
    return found, parts


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def text_of(cell):
    """Return the text or number of a cell."""
    return "".join(cell.itertext())


def test_workbook_holds_numbers_and_text():
    """Numbers stay numbers, text is never a formula, and equal tables are equal files."""
    table = Table(
        "T",
        (Column("a", "A"), Column("b", "B", Kind.SCORE)),
        (("<&\x1b", 1 / 3), (None, float("inf")), ("=1+1", None), ("https://a.b/", 1.0)),
        notes=("n",),
        context={"store": "s"},
        queries=("q",),
    )
    content = as_xlsx(table)
    (body, about), parts = sheets(content)
    assert body == [
        ["A", "B"],
        ["<&\\x1b", "0.3333333333333333"],
        ["", "inf"],
        ["=1+1", ""],
        ["https://a.b/", "1"],
    ]
    assert about == [["T"], ["n"], ["store", "s"], ["queries", "q"]]
    tags = {each.tag.removeprefix(MAIN) for each in parts["xl/worksheets/sheet1.xml"].iter()}
    assert not tags & {"f", "hyperlink"}
    assert as_xlsx(table) == content


def test_a_text_longer_than_a_cell_is_cut_and_said():
    """A text that is too long for a cell is cut, and a note counts such cells."""
    (body, about), _ = sheets(as_xlsx(Table("T", (Column("a", "A"),), (("x" * 40_000,),))))
    assert body[1] == ["x" * 32_767]
    assert about[1] == ["cells with a text cut off after 32,767 characters: 1"]


def test_columns_can_be_told_apart_and_filtered():
    """Equal headings name their columns; truth values are such; widths and a filter are set."""
    columns = (Column("first", "to"), Column("last", "to"), Column("ok", "Leads"))
    table = Table("T", columns, (("a" * 30, "b", True), ("c", "d", None)))
    (body, _), parts = sheets(as_xlsx(table))
    assert body[:2] == [["to (first)", "to (last)", "Leads"], ["a" * 30, "b", "1"]]
    sheet = parts["xl/worksheets/sheet1.xml"]
    assert sheet.find(f"{MAIN}autoFilter").get("ref") == "A1:C3"
    widths = [float(each.get("width")) for each in sheet.iter(f"{MAIN}col")]
    assert widths[0] > 30 > widths[1] > 5
    assert [c.get("t") for c in sheet.iter(f"{MAIN}c")][5] == "b"
