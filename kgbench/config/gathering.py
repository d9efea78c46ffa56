# SPDX-License-Identifier: Apache-2.0
"""A configuration together with the files that it includes, and the entries of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgbench.config import graphs, reading
from kgbench.config.trees import Tree, below
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json

MAX_FILES = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A task or model entry: a ``text``, or label, class, params and spec."""

    origin: Tree = field(repr=False, compare=False)
    pointer: str
    text: str | None = None
    label: str | None = None
    class_name: str | None = None
    spec: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    params_pointer: str = ""

    def finding(self, message: str, parameter: str | None = None) -> Finding:
        """Return a finding about this entry, or about one of its parameters."""
        position = self.pointer if parameter is None else below(self.params_pointer, parameter)
        return self.origin.finding(position, message)

    def at(self, key: str) -> Entry:
        """Return this entry with the place of one of its keys."""
        return replace(self, pointer=below(self.pointer, key))


def gather(path: Path, overrides: Mapping[str, tuple[str, Json]]) -> list[Tree]:
    """Read the configuration at ``path`` and all files that it includes, which come before it.

    ``overrides`` are values by key that replace those of the configuration, each with the name that
    findings about it have. Raises :class:`~kgbench.errors.ConfigurationError` with the findings of
    all files.
    """
    gathering = _Gathering(overrides)
    gathering.visit(path, str(path), graphs.CONFIGURATION, ())
    if gathering.findings:
        raise ConfigurationError(gathering.findings)
    return gathering.trees


class _Gathering:
    def __init__(self, overrides: Mapping[str, tuple[str, Json]]) -> None:
        self.overrides = overrides
        self.trees: list[Tree] = []
        self.findings: list[Finding] = []
        self.seen: set[Path] = set()

    def visit(self, path: Path, source: str, root_type: str, around: tuple[Path, ...]) -> None:
        """Read a file and those it includes; ``around`` is the chain of including files."""
        try:
            tree = reading.read(path, source, root_type)
        except ConfigurationError as error:
            self.findings += error.findings
            return
        if not around:
            tree.override(self.overrides)
        refused = graphs.findings(tree, root_type)
        if refused:
            self.findings += refused
            return
        chain = (*around, path.resolve())
        self.seen.add(path.resolve())
        for number, written in enumerate(members(tree, "include")):
            self._include(tree, below("/include", number), path.parent / written, chain)
        self.trees.append(tree)

    def _include(self, including: Tree, pointer: str, path: Path, chain: tuple[Path, ...]) -> None:
        message = None
        if not is_file(path):
            message = f"the included file is missing: there is no file {path}"
        elif path.resolve() in chain:
            message = f"the include is cyclic: {path} leads back to itself"
        elif len(self.seen) >= MAX_FILES:
            message = f"more than {MAX_FILES} files are included"
        if message is not None:
            self.findings.append(including.finding(pointer, message))
        elif path.resolve() not in self.seen:
            self.visit(path, str(path), graphs.PART, chain)


def is_file(path: Path) -> bool:
    """Return whether ``path`` is an accessible file; never raises."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def members(tree: Tree, key: str) -> Sequence[Any]:
    """Return the members of a list of a configuration; a single value is a list of one."""
    value = tree.value.get(key, [])
    return value if isinstance(value, list) else [value]


def entries(tree: Tree, key: str) -> Iterator[Entry]:
    """Yield the entries of ``tasks`` or ``models``; one for each of several params objects.

    Raises :class:`~kgbench.errors.ConfigurationError` for params that are a list of lists.
    """
    listed = isinstance(tree.value.get(key), list)
    for number, member in enumerate(members(tree, key)):
        pointer = below(f"/{key}", number) if listed else f"/{key}"
        if isinstance(member, str):
            yield Entry(tree, pointer, text=member)
            continue
        entry = Entry(
            tree,
            pointer,
            label=member.get("label"),
            class_name=member.get("class"),
            spec=member.get("spec"),
            params_pointer=below(pointer, "params"),
        )
        params = member.get("params", [])
        if isinstance(params, dict):
            yield replace(entry, params=params)
            continue
        if not params:
            yield entry
        name = entry.label or (entry.class_name if key == "tasks" else None)
        for place, values in enumerate(params):
            position = below(entry.params_pointer, place)
            if not isinstance(values, dict):
                message = "found a list; allowed: an object with a value for each parameter"
                raise ConfigurationError([tree.finding(position, message)])
            yield replace(
                entry,
                label=f"{name}-{place + 1}" if len(params) > 1 and name else entry.label,
                params=values,
                params_pointer=position,
            )
