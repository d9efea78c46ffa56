# SPDX-License-Identifier: Apache-2.0
"""Search for what must not be published: private data, and texts of protected suites.

Keys are searched for in all texts. Hosts, users and paths are searched for in texts by kgbench and
providers, but not in prompts and answers, where they may be part of a task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks import shapes
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.redaction import RedactionLevel, parse_json, public_fields
from kgbench.publish.scrubbing import Revealed, Scrubber, local_names
from kgbench.secrets import published_keys
from kgbench.validation.components import term_text
from kgbench.vocab import KGB, PROV, RDF, SKOS

_TYPE, _CONFIGURATION = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Configuration)
_TEXT_VALUES = frozenset((PROV.value, KGB.originalBytes))  # texts of models and users
_EXEMPT = frozenset((KGB.caseData, KGB.infos, KGB.tableJson))
_SHORTEST = 4
_ANYWHERE = "https://example.org/"
_REMEDY = "Remove it from the store or from the publication, and revoke a key that was published."
_WITHHOLD = "Publish with --redact prompts, or name the suite with --unprotected."
_TEXTS = (".html", ".svg", ".json", ".ttl", ".rq", ".txt")
_SAME = (".jsonld", ".nt")  # the Turtle beside them has the same statements


def private(published: PublicationFiles, names: Iterable[str] | None = None) -> Iterator[Fault]:
    """Yield private data in the files; ``names`` are by default those of this machine and user."""
    known = local_names() if names is None else names
    scrubber = Scrubber(name for name in known if len(name) >= _SHORTEST)
    yield from _in_statements(published, scrubber)
    for name, path in published.files.items():
        if path.suffix not in _TEXTS and ("/" in name or path.suffix not in _SAME):
            continue
        text = published.text(name)
        for key in published_keys(text):
            yield _fault("", name, Revealed("a key", key))
        if "/" not in name or name.startswith(("version/", "queries/")):
            # The publisher chose the base, which may be on a private network.
            for found in scrubber.private_parts(text.replace(published.base or _ANYWHERE, "")):
                yield _fault("", name, found)


def _in_statements(published: PublicationFiles, scrubber: Scrubber) -> Iterator[Fault]:
    """Yield what IRIs, each once, and literals reveal."""
    base = published.base or _ANYWHERE
    seen = set()
    for quad in published.quads:
        value: Any = quad.object
        datatype = getattr(value, "datatype", None)
        found = list(_in_literal(published, quad, scrubber))
        for term in (quad.subject, quad.predicate, value, quad.graph_name, datatype):
            if not isinstance(term, ox.NamedNode) or term.value in seen:
                continue
            seen.add(term.value)
            revealed = scrubber.revealed(term.value.replace(base, _ANYWHERE, 1))
            found += [revealed] if revealed is not None else []
        for one in found:
            node = getattr(quad.subject, "value", "")
            yield _fault(node, published.file_of(quad.subject), one)


def _in_literal(published: PublicationFiles, quad: Any, scrubber: Scrubber) -> Iterator[Revealed]:
    value = quad.object
    if not isinstance(value, ox.Literal) or len(value.value) < _SHORTEST:
        return
    yield from (Revealed("a key", key) for key in published_keys(value.value))
    name = quad.predicate.value
    # Texts with a language are declarations; a configuration may name files and servers.
    of_model = name in _TEXT_VALUES and not any(
        published.quads.quads_for_pattern(quad.subject, _TYPE, _CONFIGURATION)
    )
    number = value.datatype.value.endswith(("integer", "double", "dateTime"))
    if not (name in _EXEMPT or of_model or value.language or number):
        yield from scrubber.private_parts(value.value)


def _fault(node: str, file: str, found: Revealed) -> Fault:
    """Return a fault with the beginning of the match only, so that it does not reveal a key."""
    secret = found.kind == "a key"
    start = found.text[:6] if secret else found.text[:60]
    constraint = "secret" if secret else "private"
    return Fault(constraint, node, file, f"It reveals {found.kind}: {start}...", _REMEDY)


# --- protected suites ---------------------------------------------------------------------------


def protected(published: PublicationFiles, allowed: Collection[str] = ()) -> Iterator[Fault]:
    """Yield published texts of protected suites, except those ``allowed`` by their notation."""
    data, pattern = published.data, published.quads.quads_for_pattern
    used = ox.NamedNode(KGB.suite)
    notations: dict[Any, str] = {}
    for suite in data.instances(ox.NamedNode(KGB.Suite)):
        is_protected = ox.Literal(value=True) in data.values(suite, ox.NamedNode(KGB.protected))
        names = data.values(suite, ox.NamedNode(SKOS.notation))
        notation = next((name.value for name in names), suite.value)
        if is_protected and notation not in allowed and any(pattern(None, used, suite)):
            notations[suite] = notation
    told = tuple(f"protected suite {term_text(suite)}." for suite in notations)
    if notations:
        for fault in shapes.constrained("leakage", published.quads, published.file_of):
            if fault.message.endswith(told) and not _sealed(fault.file):
                yield fault
    for suite, notation in notations.items():
        for case in (quad.subject for quad in pattern(None, used, suite)):
            for value in data.values(case, ox.NamedNode(KGB.caseData)):
                clear, file = _in_the_clear(value.value), published.file_of(case)
                if clear and not _sealed(file):
                    message = f"It reveals {', '.join(clear)} of a case of the protected suite "
                    name = getattr(case, "value", "")
                    yield Fault("protected-case", name, file, f"{message}{notation}.", _WITHHOLD)


def _sealed(file: str) -> bool:
    """Return whether a file is encrypted, and therefore reveals nothing."""
    return file.endswith(".zip")


def _in_the_clear(text: str) -> list[str]:
    """Return the names of fields of case data that are not only identifiers."""
    data = parse_json(text)
    if not isinstance(data, dict):
        return ["all"]
    identifiers = public_fields(data, RedactionLevel.PROMPTS)
    assert isinstance(identifiers, dict)
    return sorted(n for n, value in data.items() if n not in identifiers and value is not None)
