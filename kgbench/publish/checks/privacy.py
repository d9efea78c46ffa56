# SPDX-License-Identifier: Apache-2.0
"""What no publication may tell: keys, hosts, names of users, paths of machines.

Keys are looked for everywhere. Hosts, users and paths are looked for in what kgbench and providers
wrote, not in what models were asked and answered, where they are part of what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks.published import TEXT_VALUES, Published
from kgbench.publish.checks.report import Fault
from kgbench.publish.scrubbing import here, is_private
from kgbench.vocab import KGB

_KEY = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:proj-|ant-|live_|test_)?[A-Za-z0-9_-]{16,}"
    r"|\b(?:gsk|xai|hf|gh[pousr]|glpat|pplx|nvapi)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgithub_pat_\w{20,}|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+"
    r"|(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?bearer\s+[\w.~+/=-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_PATH = re.compile(
    r"(?<![\w/.])/(?:home|Users|root|mnt|srv)/[\w.@+-]+|\b[A-Za-z]:\\+Users\\+[\w.@+-]+"
    r"|\bfile:///?[\w.~-]"
)
_HOST = re.compile(
    r"(?i)\blocalhost(?::\d+)?\b|(?<![\w.])127\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
    r"|(?<![\w.])(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2,3}(?![\w.])"
    r"|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:local|lan|internal|intranet|localdomain)\b"
    r"|\b[a-z][a-z0-9+.-]*://[^\s/@\"]+:[^\s/@\"]+@"
)
_MEANT = frozenset((KGB.caseData, KGB.infos, KGB.tableJson))
_SHORTEST = 4
_REMEDY = "Remove it from the store or from what is published, and withdraw a key that was told."
_TEXTS = (".html", ".svg", ".json", ".jsonld", ".ttl", ".nt", ".rq", ".txt", ".css")


def check(published: Published, names: Iterable[str] | None = None) -> Iterator[Fault]:
    """What is told that must not be; ``names`` are those of this machine and its user."""
    private = _words(here() if names is None else names)
    yield from _dumps(published, private)
    for path in published.files():
        if path.suffix not in _TEXTS:
            continue
        name = published.name(path)
        text = path.read_text(encoding="utf-8", errors="replace")
        found = _KEY.search(text)
        if found is not None:
            yield _fault("secret", "", name, "a key", found.group())
        if "/" not in name or name.startswith(("version/", "queries/")):
            yield from _private("", name, text, private)


def _dumps(published: Published, private: re.Pattern[str] | None) -> Iterator[Fault]:
    for quad in published.quads:
        value: Any = quad.object
        if isinstance(value, ox.NamedNode):
            iri = value.value
            if not iri.startswith(("http://www.w3.org/", "https://w3id.org/")) and is_private(iri):
                yield from _found(published, quad, "private", "a private address", iri)
            continue
        if not isinstance(value, ox.Literal) or len(value.value) < _SHORTEST:
            continue
        text = value.value
        key = _KEY.search(text)
        if key is not None:
            yield from _found(published, quad, "secret", "a key", key.group())
        if quad.predicate.value in TEXT_VALUES or quad.predicate.value in _MEANT:
            continue
        if value.language or value.datatype.value.endswith(("integer", "double", "dateTime")):
            continue  # what is declared has a language
        node = getattr(quad.subject, "value", "")
        for fault in _private(node, "", text, private):
            yield fault._replace(file=published.file_of(quad.subject))


def _private(node: str, file: str, text: str, private: re.Pattern[str] | None) -> Iterator[Fault]:
    for pattern, what in ((_PATH, "a local path"), (_HOST, "a host"), (private, "a name")):
        found = None if pattern is None else pattern.search(text)
        if found is not None:
            yield _fault("private", node, file, what, found.group())


def _found(
    published: Published, quad: Any, constraint: str, what: str, text: str
) -> Iterator[Fault]:
    node = getattr(quad.subject, "value", "")
    yield _fault(constraint, node, published.file_of(quad.subject), what, text)


def _fault(constraint: str, node: str, file: str, what: str, text: str) -> Fault:
    """A fault that tells enough to find the place, and not the secret once more."""
    start = text[:6] if constraint == "secret" else text[:60]
    return Fault(constraint, node, file, f"Tells {what}: {start}...", _REMEDY)


def _words(names: Iterable[str]) -> re.Pattern[str] | None:
    common = {"root", "user", "admin", "runner", "ubuntu", "localhost", "home", "data", "main"}
    kept = sorted(n for n in names if len(n) >= _SHORTEST and n.lower() not in common)
    if not kept:
        return None
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, kept))})(?![\w-])")
