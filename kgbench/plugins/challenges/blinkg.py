# SPDX-License-Identifier: Apache-2.0
"""Scenario 1 of BLINKG: files, an ontology, and the graph that a mapping of the files produces.

BLINKG publishes graphs without mappings. Reference mappings are induced from files and graph
(:mod:`.induction`); triples that do not follow from a record are not expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import ImportRefused, Json
from kgbench.characters import without_bom
from kgbench.datasets import home
from kgbench.datasets.descriptions import Description
from kgbench.datasets.install import InstallationResult, clone_folder, copy_files, install_files
from kgbench.mapping.execution import normalise_constant
from kgbench.mapping.limits import MappingError
from kgbench.mapping.listings import JSON, XML, listings
from kgbench.plugins.challenges.induction import Rule, induce_rules

NAME: Final = "blinkg"
CLASS: Final = "BlinkgMappings"
FORMATS: Final = (JSON, XML)
_FOLDER: Final = "scenarios/scenario1"
_GRAPH, _ONTOLOGY, _LICENCE = "expected-graph.nt", "ontology.ttl", "LICENSE"

Row = tuple[str, ...]


class Scenario(NamedTuple):
    """A scenario with its files in one format.

    ``expected`` are the triples of the published graph that follow from the files by ``rules``;
    ``beyond`` are the other triples of that graph.
    """

    name: str
    form: str
    files: Mapping[str, str]
    ontology: str
    rules: tuple[Rule, ...]
    expected: tuple[Row, ...]
    beyond: tuple[Row, ...]


def scenarios(root: Path) -> list[Scenario]:
    """Read the scenarios of a copy, once for each format in which they have files.

    Raises :class:`~kgbench.errors.ImportRefused` if a file cannot be read.
    """
    try:
        return [
            _scenario(folder, form)
            for folder in _folders(root)
            for form in FORMATS
            if _sources(folder, form)
        ]
    except (OSError, ValueError, SyntaxError, MappingError) as error:
        raise ImportRefused(f"the scenarios of {root} cannot be read: {error}") from error


def _scenario(folder: Path, form: str) -> Scenario:
    files = {path.name: _text(path) for path in _sources(folder, form)}
    sources = [listing for name, text in files.items() for listing in listings(name, form, text)]
    graph = ox.parse(without_bom((folder / _GRAPH).read_bytes()), ox.RdfFormat.N_TRIPLES)
    triples = [quad.triple for quad in graph]
    rules, beyond = induce_rules(triples, sources)
    expected = (triple for triple in triples if triple not in beyond)
    ontology = _text(folder / _ONTOLOGY)
    return Scenario(folder.name, form, files, ontology, rules, _rows(expected), _rows(iter(beyond)))


def _rows(triples: Iterator[ox.Triple]) -> tuple[Row, ...]:
    return tuple(
        sorted(tuple(normalise_constant(str(term)) for term in triple) for triple in triples)
    )


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


def _folders(root: Path) -> list[Path]:
    return [
        folder
        for folder in sorted((root / _FOLDER).glob("*"))
        if (folder / _GRAPH).is_file()
        and (folder / _ONTOLOGY).is_file()
        and any(_sources(folder, form) for form in FORMATS)
    ]


def _sources(folder: Path, form: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"*.{form}") if path.is_file())


def installed() -> list[Scenario]:
    """Return the scenarios of the installed copy whose graphs have triples that follow from files.

    Raises :class:`~kgbench.errors.TaskError` if the data set is not installed.
    """
    return _solvable(home.require_folder(NAME))


@cache
def _solvable(root: Path) -> list[Scenario]:
    return [scenario for scenario in scenarios(root) if scenario.rules]


def install(description: Description, copy: str | None, *_: object) -> InstallationResult:
    """Install scenario 1 from a clone of the repository.

    Files that differ from their declared checksum are installed and listed, and triples that do not
    follow from a record are counted. Raises :class:`~kgbench.errors.ImportRefused`, and installs
    nothing, if there are no scenarios.
    """
    root = clone_folder(description, copy)

    def fill(scratch: Path, result: InstallationResult) -> None:
        copy_files(description, root, _needed_files(root), scratch, result)
        found_scenarios = scenarios(scratch)
        if not found_scenarios:
            raise ImportRefused(f"{root} has no scenarios in {_FOLDER}")
        result.remarks += [
            f"triples of {scenario.name} that follow from no record in {scenario.form}, and are "
            f"not asked for: {len(scenario.beyond)}"
            for scenario in found_scenarios
            if scenario.beyond
        ]

    return install_files(description, str(root), fill, labelled_tasks)


def _needed_files(root: Path) -> list[str]:
    """Return the relative paths of the files that cases need; links out of the copy are ignored."""
    folders = _folders(root)
    paths = {folder / name for folder in folders for name in (_GRAPH, _ONTOLOGY)}
    paths |= {path for folder in folders for form in FORMATS for path in _sources(folder, form)}
    paths |= {*root.glob(_LICENCE)} if folders else set()
    inside = (path for path in paths if path.resolve().is_relative_to(root))
    return sorted(path.relative_to(root).as_posix() for path in inside)


def labelled_tasks(root: Path) -> list[dict[str, Json]]:
    """Return the tasks of a copy, one for each format of its files."""
    forms = {scenario.form for scenario in scenarios(root) if scenario.rules}
    return [
        {"class": CLASS, "label": f"{CLASS}-{form}", "parameters": {"format": form}}
        for form in FORMATS
        if form in forms
    ]
