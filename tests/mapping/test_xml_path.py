# SPDX-License-Identifier: Apache-2.0
"""XPath 1.0 in mappings: its functions and axes, and what it refuses."""

from __future__ import annotations

import pytest

from kgbench.mapping import paths
from kgbench.mapping.limits import MappingError


@pytest.mark.parametrize(
    "path",
    [
        *("", "a//", "a/", "a[", "a[]", "@", "a b", "a" * 3_000, "a" + "/a" * 50),
        *("matches(a, 'b')", "document('file:///etc/hostname')", "x:a", "$a"),
    ],
)
def test_ill_formed_x_paths(path):
    """An ill-formed XPath, and what XPath 1.0 does not have, are refused."""
    document = paths.XmlDocument("<a/>")
    with pytest.raises(MappingError, match=r"XPath|more than"):
        document.select(path, document.root)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("concat(of[1], '-', @id)", ["x-1"]),
        ("substring-before(in/deep, ' &')", ["d"]),
        ("normalize-space(concat(' ', of, ' '))", ["x"]),
        ("translate(of[2], 'y', 'Y')", ["Y"]),
        ("count(of)", ["2"]),
        ("sum(@id) div 2", ["0.5"]),
        ("boolean(of)", ["true"]),
        ("of[position() > 1]", ["y"]),
        ("of[starts-with(., 'x') or . = 'z']", ["x"]),
        ("in/deep/ancestor::thing/@id", ["1"]),
        ("of[1]/following-sibling::of", ["y"]),
        ("of | @id", ["1", "x", "y"]),
        ("/all/thing/@id", ["1"]),
        ("no", []),
    ],
)
def test_functions_and_axes_of_x_paths(path, expected):
    """Functions, operators and axes of XPath 1.0 are evaluated."""
    document = paths.XmlDocument(
        '<?xml version="1.0" encoding="latin-1"?>'
        '<all><thing id="1"><of>x</of><of>y</of><in><deep>d &amp; e</deep></in></thing></all>'
    )
    (thing,) = document.elements("all/thing")

    assert [paths.xml_text(node) for node in document.select(path, thing)] == expected
