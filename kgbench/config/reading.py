# SPDX-License-Identifier: Apache-2.0
"""Reading of configuration files, and of those that they include, as trees without API keys.

A configuration is recorded with every run and published with it; keys belong in the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.config import graphs, trees, turtle
from kgbench.config.trees import ADVICE, Tree, below, hidden, without_keys
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.secrets import contains_pasted_key, is_secret_field

MAX_BYTES = 256 * 1024  # forty times the largest known configuration

SYNTAXES = {
    ".yaml": "YAML",
    ".yml": "YAML",
    ".yamlld": "YAML",
    ".json": "JSON",
    ".jsonld": "JSON",
    ".ttl": "Turtle",
}

MAX_FILES = 100  # of a configuration

_PASTED = f"this looks like an API key; {ADVICE}"

# Names of keys in the first version of LLM-KG-Bench.
_FORMER_KEYS = {"tasks": "tests"}


def read(path: Path, source: str, root_type: str) -> Tree:
    """Read the file at ``path``, called ``source`` in messages, as a tree.

    In Turtle, the root has the type ``root_type``. Raises
    :class:`~kgbench.errors.ConfigurationError` for a file that is missing, too large, empty, not
    UTF-8 or of an unknown kind, for syntax errors, API keys (even in comments), nulls, and what is
    not connected to the root.
    """
    text = _text(path, source)
    try:
        tree = _tree(source, text, SYNTAXES[path.suffix.lower()], root_type)
        found = list(_keys(tree, tree.value, ""))
        known = {finding.line for finding in found if finding.message == _PASTED}
    except ConfigurationError as error:
        found, known = error.findings, set()
    lines = enumerate(text.splitlines(), 1)
    pasted = [number for number, line in lines if contains_pasted_key(line)]
    found += [_finding(source, _PASTED, number) for number in pasted if number not in known]
    if found:
        raise ConfigurationError(found)
    if not isinstance(tree.value, dict):
        kind = "a list" if isinstance(tree.value, list) else "a single value"
        tree.note("", f"found {kind}; allowed: an object with keys such as 'tasks' and 'models'")
    if tree.findings:
        raise ConfigurationError(tree.findings)
    return tree


def _tree(source: str, text: str, syntax: str, root_type: str) -> Tree:
    if syntax == "Turtle":
        return turtle.read(source, text, root_type)
    tree = trees.read(source, text, syntax)
    if isinstance(tree.value, dict):
        for present, former in _FORMER_KEYS.items():
            if former in tree.value and present not in tree.value:
                tree.former[present] = former
                members = tree.value.items()
                tree.value = {present if key == former else key: member for key, member in members}
    return tree


def _text(path: Path, source: str) -> str:
    try:
        if not path.exists():
            raise _refusal(source, "there is no such file")
        if not path.is_file():
            raise _refusal(source, "this is not a file")
        if path.suffix.lower() not in SYNTAXES:
            raise _refusal(source, f"unknown kind of file; known are {', '.join(SYNTAXES)}")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name cannot be used"
        raise _refusal(source, f"the file cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise _refusal(source, f"the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise _refusal(source, message, line) from None
    if not text.strip():
        raise _refusal(source, "the file is empty")
    return text


def _refusal(source: str, message: str, line: int | None = None) -> ConfigurationError:
    return ConfigurationError([_finding(source, message, line)])


def _finding(source: str, message: str, line: int | None) -> Finding:
    return without_keys(Finding(source, "", message, line))


def _keys(tree: Tree, value: Any, pointer: str) -> Iterator[Finding]:
    """Yield a finding for each field whose name or value suggests a key."""
    if isinstance(value, dict):
        for key, member in value.items():
            position = below(pointer, key)
            if is_secret_field(key):
                message = f"the field '{hidden(key)}' is for an API key; {ADVICE}"
                yield tree.finding(position, message)
            else:
                yield from _keys(tree, member, position)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _keys(tree, member, below(pointer, number))
    elif contains_pasted_key(value.value if isinstance(value, ox.Literal) else str(value)):
        yield tree.finding(pointer, _PASTED)


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
            tree = read(path, source, root_type)
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
