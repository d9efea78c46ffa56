# SPDX-License-Identifier: Apache-2.0
"""Reading YAML and JSON: values as written, a line for each, ambiguous syntax refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.config import trees
from kgbench.errors import ConfigurationError


def messages(text, syntax="YAML"):
    """Return all findings of a document as ``line pointer message``."""
    try:
        findings = trees.read("file", text, syntax).findings
    except ConfigurationError as error:
        findings = error.findings
    return [f"{f.line} {f.pointer} {f.message}" for f in findings]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("+7", 7),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("1.50", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("0.30000000000000004", 0.30000000000000004),
        ("0b11", "0b11"),
        ("'10'", "10"),
        ('"true"', "true"),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(written, value):
    """Octals, truth values and dates of YAML 1.1 are read as YAML 1.2 defines them."""
    found = trees.read("file", f"key: {written}\n").value["key"]

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", "3 /a the key 'a' is given twice"),
        ("a:\n  - {b: 1, b: 2}\n", "2 /a/0/b the key 'b' is given twice"),
        ("a: null\n", "1 /a found nothing (null)"),
        ("a:\nb: 1\n", "1 /a found nothing (null)"),
        ("a: ~\n", "1 /a found nothing (null)"),
        ("a: [1, ]\nb: [~]\n", "2 /b/0 found nothing (null)"),
        ("a: !!python/object:os.system x\n", "1 /a tags are not read here"),
        ("a: !env KEY\n", "1 /a tags are not read here"),
        ("a: !!binary aGVsbG8=\n", "1 /a tags are not read here"),
        ("a: !!set {x}\n", "1 /a tags are not read here"),
        ("a: !!str 10\n", "1 /a tags are not read here"),
        ("a: ! [1]\n", "1 /a tags are not read here"),
        ("!x a: 1\n", "1  a key must be a text without a tag"),
        ("a: *b\n", "1 /a this alias stands before its anchor"),
        ("a: &b [*b]\n", "1 /a/0 this alias stands before its anchor"),
        ("a: &b {c: 1}\nd:\n  <<: *b\n", "3 /d merge keys (<<) are not part of YAML 1.2"),
        ("1: x\n", "1  a key must be a text"),
        ("true: x\n", "1  a key must be a text"),
        ("'': x\n", "1  a key must be a text"),
        ("? [a]\n: x\n", "1  a key must be a text"),
        ("a: 1\n---\nb: 2\n", "2  a second YAML document starts here"),
        ("%YAML 1.1\n---\na: no\n", "1  only YAML 1.2 is read"),
        ("a: .inf\n", "1 /a the number is not finite"),
        ("a: .nan\n", "1 /a the number is not finite"),
        ("a: 1e999\n", "1 /a the number is not finite"),
        ("a: 99999999999999999999\n", "1 /a the number does not fit into 64 bits"),
        (f"a: {'9' * 5000}\n", "1 /a the number does not fit into 64 bits"),
        ("a: [1, 2\n", "this is not YAML"),
        ("a: b: c\n", "1  this is not YAML"),
        ("\tb: 1\n", "1  this is not YAML"),
        ("a: \x01\n", "this is not YAML"),
        ('a: "\\UFFFFFFFF"\n', "this is not YAML"),
        ("a: " + "[" * 100, "nested deeper than 32 levels"),
        ("# nothing\n", "the file is empty"),
        ("", "the file is empty"),
    ],
)
def test_what_yaml_hides_is_refused(text, expected):
    """Repeated keys, nulls, tags, merge keys and the like are reported with line and pointer."""
    said = messages(text)

    assert any(expected in each for each in said), said


def test_a_bomb_of_aliases_is_refused_before_it_is_expanded():
    """Nine levels of nine aliases, 387 million values, are refused before expansion."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]

    found = messages("\n".join(lines))

    assert any(f"more than {trees.MAX_NODES} values" in each for each in found)


def test_a_modest_alias_stands_for_its_value():
    """An alias stands for its value, also twice, and has the line of its use."""
    tree = trees.read("file", "a: &x {b: 1}\nc: *x\nd: [*x]\n")

    assert tree.value == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}
    assert [tree.finding(pointer, "").line for pointer in ("/c/b", "/d/0/b")] == [2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,\n "a": 2}', "2 /a the key 'a' is given twice"),
        ('{"a": [1, {"b": null}]}', "1 /a/1/b found nothing (null)"),
        ('{"a": "\\ud800"}', "1 /a the text holds a lone surrogate"),
        ('{"a": 1\n "b": 2}', "2  this is not JSON: expected ',' or '}'"),
        ('{"a": "x', "1  this is not JSON: found unexpected end of stream"),
        ('{"a": "\\x"}', "1  this is not JSON: expected escape sequence"),
        ('{"a": 1} x', "1  this is not JSON: expected the end of the file"),
        ('{"a": "\x85"}', "this is not JSON: it holds control characters"),
        ('{"a": ' * 100_000, "nested deeper than 32 levels"),
        (f"[{'1,' * 30_000}1]", "more than 10000 values"),
    ],
)
def test_mistakes_in_json_are_said_of_json(text, expected):
    """JSON is read as YAML, and messages about its syntax call it JSON."""
    said = messages(text, "JSON")

    assert any(expected in each for each in said), said


SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1)
SCALARS |= st.floats(allow_nan=False, allow_infinity=False)
# The escape of JSON leaves DEL as it is, which YAML refuses.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=30)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS.filter(bool), inner),
    max_leaves=20,
)


@settings(deadline=None, max_examples=50)
@given(VALUES, st.sampled_from([None, 0, 3, "\t"]))
def test_json_is_read_as_the_standard_library_reads_it(value, indent):
    """Any JSON value within the limits is read unchanged, with a line for every pointer."""
    tree = trees.read("file", json.dumps(value, indent=indent))

    assert tree.value == value
    assert not tree.findings
    assert all(line >= 1 for line in tree.lines.values())


@settings(deadline=None)
@given(text=st.text(max_size=200) | st.text("{}[]:,-&*!|>'\"#%@ \n\tab01~?<.", max_size=60))
def test_any_text_is_read_or_refused(text):
    """Any text is read, or refused with findings."""
    try:
        trees.read("file", text)
    except ConfigurationError as error:
        assert error.findings


def test_lines_are_those_of_the_file():
    """Each pointer has the line of its key or item, a deeper one the line around it."""
    text = "tasks:\n  - label: a\n    params:\n      - x: 1\n\niterations: 3\n"
    pointers = ["/tasks", "/tasks/0", "/tasks/0/params/0/x", "/iterations", "/iterations/none"]
    assert lines(text, *pointers) == [1, 2, 4, 6, 6]
    text = '{\n "a": [\n  1,\n  {"b": 2}\n ]\n}'
    assert lines(text, "", "/a", "/a/0", "/a/1/b") == [1, 2, 3, 4]


def lines(text, *pointers):
    """Return the lines of some pointers into a document."""
    tree = trees.read("file", text)
    return [tree.finding(pointer, "").line for pointer in pointers]
