# SPDX-License-Identifier: Apache-2.0
"""Every licence of kgbench's dependencies is known and fits; the bill of materials is complete."""

from __future__ import annotations

from email.message import Message
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import licences, sbom
from tools.distributions import brought_along
from tools.licences import Standing

#: Copyleft limited to the library: used unchanged, installed apart, never copied into kgbench.
WEAK = {"certifi", "frozendict", "orjson", "tqdm"}
SIMPLE = ("MIT", "Apache-2.0", "MPL-2.0", "GPL-3.0-only", "AGPL-3.0-only", "LicenseRef-Ours")


def said(**fields):
    """Return distribution metadata with these fields; classifiers as a list."""
    message = Message()
    for classifier in fields.pop("classifiers", ()):
        message["Classifier"] = f"License :: OSI Approved :: {classifier}"
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


def test_no_dependency_has_a_licence_that_does_not_fit():
    """No dependency of kgbench, extras included, is GPL, AGPL or of unknown licence."""
    found = brought_along(["all"])
    bad = {
        f"{each.name} {each.version}: {each.licence}"
        for each in found.values()
        if licences.standing(each.licence) >= Standing.REFUSED
    }
    weak = {name for name, e in found.items() if licences.standing(e.licence) is Standing.WEAK}

    assert {"rdflib", "pyoxigraph", "typer", "click"} <= found.keys()
    assert not bad
    assert weak <= WEAK


def test_the_inventory_ends_as_it_found(monkeypatch, capsys):
    """The inventory is printed, and the exit code tells whether all licences are acceptable."""
    assert licences.main([]) == 0
    assert "permissive  kgbench" in capsys.readouterr().out
    monkeypatch.setattr(licences, "of", lambda _: "GPL-3.0-only")
    assert licences.main([]) == 1
    assert "refused     rdflib" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "expression"),
    [
        ({"License_Expression": "mit or apache-2.0", "License": "BSD"}, "MIT OR Apache-2.0"),
        ({"License": "Apache License, Version 2.0"}, "Apache-2.0"),
        ({"License": "MIT License\n\n" + "words " * 50}, "MIT"),
        ({"License": "Copyright " + "words " * 50, "classifiers": ["MIT License"]}, "MIT"),
        ({"classifiers": ["BSD License", "MIT License"]}, "LicenseRef-BSD AND MIT"),
        (
            {"License": "see LICENSE", "classifiers": ["GNU General Public License v3 (GPLv3)"]},
            "GPL-3.0-only",
        ),
        ({"License": "see LICENSE"}, None),
        ({}, None),
    ],
)
def test_licences_are_read_as_packages_write_them(fields, expression):
    """The expression comes first, then a licence field that is a name, then the classifiers."""
    assert licences.of(said(**fields)) == expression


@given(st.lists(st.sampled_from(SIMPLE), min_size=1, max_size=4))
def test_and_is_the_worst_and_or_the_best(names):
    """AND has the standing of its worst part, OR that of its best, with or without brackets."""
    each = [licences.standing(name) for name in names]

    assert licences.standing(" AND ".join(names)) == max(each)
    assert licences.standing(" OR ".join(f"({name})" for name in names)) == min(each)
    for text in ("(MIT", "MIT )", "MIT WITH", "AND"):
        assert licences.standing(text) is Standing.UNKNOWN


def test_an_exception_helps_only_where_it_is_known_to():
    """An unknown exception leaves the GPL refused; MIT needs none."""
    assert licences.standing("GPL-3.0-only WITH Autoconf-exception-3.0") is Standing.REFUSED
    assert licences.standing("Apache-2.0 WITH LLVM-exception") is Standing.PERMISSIVE
    assert (
        licences.standing("GPL-2.0-only WITH Classpath-exception-2.0 OR MPL-2.0") is Standing.WEAK
    )


def test_what_is_not_installed_is_not_brought_along(monkeypatch):
    """A dependency that is not installed is left out with its own dependencies."""
    whole = brought_along()
    real = metadata.distribution

    def without_typer(name):
        if name == "typer":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "distribution", without_typer)
    found = brought_along()

    assert "typer" in whole["kgbench"].needs
    assert "typer" not in found.keys() | set(found["kgbench"].needs)
    assert found.keys() < whole.keys()


def test_the_bill_of_materials_is_whole(monkeypatch):
    """Every distribution is a component with name, version and licence; all references resolve."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = sbom.bill(["plots"])
    subject = made["metadata"]["component"]
    components = {one["bom-ref"]: one for one in [subject, *made["components"]]}
    needs = {one["ref"]: one["dependsOn"] for one in made["dependencies"]}

    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert (subject["name"], made["metadata"]["timestamp"]) == ("kgbench", "2023-11-14T22:13:20Z")
    assert len(components) == 1 + len(made["components"])
    assert needs.keys() == components.keys()
    assert {one for each in needs.values() for one in each} == components.keys() - {
        subject["bom-ref"]
    }
    rdflib = f"pkg:pypi/rdflib@{metadata.version('rdflib')}"
    assert components[rdflib]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert f"pkg:pypi/matplotlib@{metadata.version('matplotlib')}" in components
    assert made == sbom.bill(["plots"])
    assert made["serialNumber"] != sbom.bill()["serialNumber"]
    monkeypatch.setattr(licences, "of", lambda _: None)
    assert not any("licenses" in one for one in sbom.bill()["components"])
