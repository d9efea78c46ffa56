# SPDX-License-Identifier: Apache-2.0
"""Finding API keys that were pasted into a configuration, and never repeating them.

A configuration is recorded with every run and published with it; keys belong into the environment.
"""

from __future__ import annotations

from dataclasses import replace

from kgbench.characters import one_line
from kgbench.config.trees import Tree, below
from kgbench.errors import Finding
from kgbench.model import Json
from kgbench.secrets.echoes import HIDDEN
from kgbench.secrets.names import is_for_a_secret
from kgbench.secrets.shapes import hide_pasted, is_pasted

ADVICE = (
    "keys are read from the environment (such as OPENAI_API_KEY), never from a configuration: "
    "remove it here, and withdraw it if the file has been shared"
)


def hidden(text: str) -> str:
    """``text`` with everything that looks like a key replaced."""
    return hide_pasted(text, HIDDEN)


def without_keys(finding: Finding) -> Finding:
    """``finding`` with keys replaced, and control characters (of a terminal, say) written out."""
    return replace(
        finding,
        source=one_line(hidden(finding.source)),
        pointer=one_line(hidden(finding.pointer)),
        message=one_line(hidden(finding.message)),
    )


def in_text(source: str, text: str) -> list[Finding]:
    """One finding for each line of a file that holds a key, comments included."""
    return [
        Finding(source, "", f"this looks like an API key; {ADVICE}", number)
        for number, line in enumerate(text.splitlines(), start=1)
        if is_pasted(line)
    ]


def in_tree(tree: Tree) -> list[Finding]:
    """One finding for each field of ``tree`` that is called like a key or holds one."""
    found: list[Finding] = []
    _search(tree, tree.value, "", found)
    return found


def _search(tree: Tree, value: Json, pointer: str, found: list[Finding]) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            place = below(pointer, key)
            if is_for_a_secret(key):
                message = f"the field '{hidden(key)}' is for an API key; {ADVICE}"
                found.append(Finding(tree.source, hidden(place), message, tree.line(place)))
            else:
                _search(tree, member, place, found)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            _search(tree, member, below(pointer, number), found)
    elif isinstance(value, str) and is_pasted(value):
        message = f"this looks like an API key; {ADVICE}"
        found.append(Finding(tree.source, hidden(pointer), message, tree.line(pointer)))


def in_graph_terms(source: str, terms: list[str]) -> list[Finding]:
    """One finding if any of a graph's ``terms`` holds a key, or is a property for one."""
    if any(is_pasted(each) for each in terms):
        return [Finding(source, "", f"a value looks like an API key; {ADVICE}")]
    return [
        Finding(source, "", f"the property '{name}' is for an API key; {ADVICE}")
        for each in sorted(set(terms))
        if "://" in each and is_for_a_secret(name := each.rpartition("/")[2].rpartition("#")[2])
    ]
