# SPDX-License-Identifier: Apache-2.0
"""Finding API keys that were pasted into a configuration, and never repeating them.

A configuration is recorded with every run and published with it; keys belong into the environment.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kgbench.config.trees import Tree, below
from kgbench.errors import Finding
from kgbench.model import Json

HIDDEN = "[hidden]"
ADVICE = (
    "keys are read from the environment (such as OPENAI_API_KEY), never from a configuration: "
    "remove it here, and withdraw it if the file has been shared"
)

# The shapes of keys that are in use: OpenAI, Anthropic and their likes, Google, AWS, GitHub,
# Hugging Face, Groq, xAI, Slack, JSON web tokens, bearer headers, and passwords in addresses.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|rk|pk)-[A-Za-z0-9_-]{12,}"
    r"|AIza[A-Za-z0-9_-]{12,}"
    r"|(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|(?<![A-Za-z0-9])gh[opsur]_[A-Za-z0-9]{16,}"
    r"|(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{16,}"
    r"|(?<![A-Za-z0-9])(?:hf|gsk|r8)_[A-Za-z0-9]{16,}"
    r"|(?<![A-Za-z0-9])xai-[A-Za-z0-9]{16,}"
    r"|(?<![A-Za-z0-9])xox[abpr]-[A-Za-z0-9-]{12,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{12,})"
    # A password in an address; a port and the parameters behind it are none.
    r"|(?<=://)[^\s/?#@'\"]*:[^\s/?#@'\"]*(?=@)"
    r"|(?<=://)(?!\[)[^\s/:?#@'\"]*:(?!\d{1,5}\?[^\s@'\"=]+=)[^\s/@'\"]*(?=@)"
)
_FIELDS = re.compile(
    r"(?i)(?:.*[-_ ])?(?:api|access|auth|secret|private|subscription|bearer|client)[-_ ]?"
    r"(?:key|token|secret)"
    r"|(?:.*[-_ ])?(?:key|secret|password|passwd|authorization|credentials?)|token"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def named_like_a_key(name: str) -> bool:
    """Whether a field called ``name`` is for a key (``api_key``, ``apiKey``, ``Authorization``).

    >>> named_like_a_key("openaiApiKey"), named_like_a_key("max_tokens")
    (True, False)
    """
    return _FIELDS.fullmatch(_HUMP.sub("_", name)) is not None


def shaped_like_a_key(text: str) -> bool:
    """Whether ``text`` holds something that looks like a key of a known provider."""
    return _SHAPES.search(text) is not None


def hidden(text: str) -> str:
    """``text`` with everything that looks like a key replaced."""
    return _SHAPES.sub(HIDDEN, text)


def without_keys(finding: Finding) -> Finding:
    """``finding`` with keys replaced, and control characters (of a terminal, say) written out."""
    return replace(
        finding,
        source=_visible(hidden(finding.source)),
        pointer=_visible(hidden(finding.pointer)),
        message=_visible(hidden(finding.message)),
    )


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def in_text(source: str, text: str) -> list[Finding]:
    """One finding for each line of a file that holds a key, comments included."""
    return [
        Finding(source, "", f"this looks like an API key; {ADVICE}", number)
        for number, line in enumerate(text.splitlines(), start=1)
        if shaped_like_a_key(line)
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
            if named_like_a_key(key):
                message = f"the field '{hidden(key)}' is for an API key; {ADVICE}"
                found.append(Finding(tree.source, hidden(place), message, tree.line(place)))
            else:
                _search(tree, member, place, found)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            _search(tree, member, below(pointer, number), found)
    elif isinstance(value, str) and shaped_like_a_key(value):
        message = f"this looks like an API key; {ADVICE}"
        found.append(Finding(tree.source, hidden(pointer), message, tree.line(pointer)))


def in_graph_terms(source: str, terms: list[str]) -> list[Finding]:
    """One finding if any of a graph's ``terms`` holds a key, or is a property for one."""
    if any(shaped_like_a_key(each) for each in terms):
        return [Finding(source, "", f"a value looks like an API key; {ADVICE}")]
    return [
        Finding(source, "", f"the property '{name}' is for an API key; {ADVICE}")
        for each in sorted(set(terms))
        if "://" in each and named_like_a_key(name := each.rpartition("/")[2].rpartition("#")[2])
    ]
