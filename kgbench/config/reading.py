# SPDX-License-Identifier: Apache-2.0
"""Reading of configuration files as trees, without API keys.

A configuration is recorded with every run and published with it; keys belong in the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.config import turtle_tree, yaml_tree
from kgbench.config.credentials import ADVICE, hidden
from kgbench.config.documents import Document
from kgbench.config.trees import Tree, below
from kgbench.errors import ConfigurationError, Finding
from kgbench.secrets.key_patterns import contains_pasted_key
from kgbench.secrets.secret_names import is_secret_field

_PASTED = f"this looks like an API key; {ADVICE}"

# Names of keys in the first version of LLM-KG-Bench.
_FORMER_KEYS = {"tasks": "tests"}


def read(document: Document, root_type: str) -> Tree:
    """Return the tree of ``document``; in Turtle, its root has the type ``root_type``.

    Raises :class:`~kgbench.errors.ConfigurationError` for syntax errors, API keys (even in
    comments), nulls, and what is neither in the tree nor connected to its root.
    """
    try:
        tree = _tree(document, root_type)
        found = list(_keys(tree, tree.value, ""))
        known = {finding.line for finding in found if finding.message == _PASTED}
    except ConfigurationError as error:
        found, known = error.findings, set()
    lines = document.text.splitlines()
    pasted = {number for number, line in enumerate(lines, 1) if contains_pasted_key(line)} - known
    if found or pasted:
        in_lines = [Finding(document.source, "", _PASTED, number) for number in sorted(pasted)]
        raise ConfigurationError([*found, *in_lines])
    if not isinstance(tree.value, dict):
        kind = "a list" if isinstance(tree.value, list) else "a single value"
        tree.note("", f"found {kind}; allowed: an object with keys such as 'tasks' and 'models'")
    if tree.findings:
        raise ConfigurationError(tree.findings)
    return tree


def _tree(document: Document, root_type: str) -> Tree:
    if document.syntax == "turtle":
        return turtle_tree.read(document.source, document.text, root_type)
    tree = yaml_tree.read(document.source, document.text, document.syntax.upper())
    if isinstance(tree.value, dict):
        for present, former in _FORMER_KEYS.items():
            if former in tree.value and present not in tree.value:
                tree.former[present] = former
                members = tree.value.items()
                tree.value = {present if key == former else key: member for key, member in members}
    return tree


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
