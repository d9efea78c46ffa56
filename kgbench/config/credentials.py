# SPDX-License-Identifier: Apache-2.0
"""Detection of API keys in configurations, without repeating them in messages.

A configuration is recorded with every run and published with it; keys belong in the environment.
"""

from __future__ import annotations

from dataclasses import replace

from kgbench.characters import one_line
from kgbench.config.trees import Tree, below
from kgbench.errors import Finding
from kgbench.model import Json
from kgbench.secrets.detection import HIDDEN
from kgbench.secrets.key_patterns import contains_pasted_key, hide_pasted_keys
from kgbench.secrets.secret_names import is_secret_field

ADVICE = (
    "keys are read from the environment (such as OPENAI_API_KEY), never from a configuration: "
    "remove it here, and withdraw it if the file has been shared"
)


def hidden(text: str) -> str:
    """Replace everything in ``text`` that looks like a key."""
    return hide_pasted_keys(text, HIDDEN)


def without_keys(finding: Finding) -> Finding:
    """Replace keys in a finding, and escape control characters."""
    return replace(
        finding,
        source=one_line(hidden(finding.source)),
        pointer=one_line(hidden(finding.pointer)),
        message=one_line(hidden(finding.message)),
    )


def in_text(source: str, text: str) -> list[Finding]:
    """Return a finding for each line of a file that contains a key, even in a comment."""
    return [
        Finding(source, "", f"this looks like an API key; {ADVICE}", number)
        for number, line in enumerate(text.splitlines(), start=1)
        if contains_pasted_key(line)
    ]


def in_tree(tree: Tree) -> list[Finding]:
    """Return a finding for each field of ``tree`` whose name or value suggests a key."""
    findings: list[Finding] = []
    _search(tree, tree.value, "", findings)
    return findings


def _search(tree: Tree, value: Json, pointer: str, findings: list[Finding]) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            position = below(pointer, key)
            if is_secret_field(key):
                message = f"the field '{hidden(key)}' is for an API key; {ADVICE}"
                findings.append(
                    Finding(tree.source, hidden(position), message, tree.line(position))
                )
            else:
                _search(tree, member, position, findings)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            _search(tree, member, below(pointer, number), findings)
    elif isinstance(value, str) and contains_pasted_key(value):
        message = f"this looks like an API key; {ADVICE}"
        findings.append(Finding(tree.source, hidden(pointer), message, tree.line(pointer)))


def in_graph_terms(source: str, terms: list[str]) -> list[Finding]:
    """Return a finding if any of a graph's ``terms`` contains a key or names a property for one."""
    if any(contains_pasted_key(term) for term in terms):
        return [Finding(source, "", f"a value looks like an API key; {ADVICE}")]
    return [
        Finding(source, "", f"the property '{name}' is for an API key; {ADVICE}")
        for term in sorted(set(terms))
        if "://" in term and is_secret_field(name := term.rpartition("/")[2].rpartition("#")[2])
    ]
