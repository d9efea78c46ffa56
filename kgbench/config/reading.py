# SPDX-License-Identifier: Apache-2.0
"""Reading of configuration files as trees, without API keys.

A configuration is recorded with every run and published with it; keys belong in the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.config import turtle_tree, yaml_tree
from kgbench.config.credentials import ADVICE, hidden, without_keys
from kgbench.config.trees import Tree, below
from kgbench.errors import ConfigurationError, Finding
from kgbench.secrets.key_patterns import contains_pasted_key
from kgbench.secrets.secret_names import is_secret_field

MAX_BYTES = 256 * 1024  # forty times the largest known configuration

SYNTAXES = {
    ".yaml": "YAML",
    ".yml": "YAML",
    ".yamlld": "YAML",
    ".json": "JSON",
    ".jsonld": "JSON",
    ".ttl": "Turtle",
}

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
        return turtle_tree.read(source, text, root_type)
    tree = yaml_tree.read(source, text, syntax)
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
