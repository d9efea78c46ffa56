# SPDX-License-Identifier: Apache-2.0
"""Search for private data in a publication: keys, hosts, names of users, local paths.

Keys are searched for in all texts. Hosts, users and paths are searched for in texts by kgbench and
providers, but not in prompts and answers, where they may be part of a task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.publish.checks.publication_files import TEXT_VALUES, PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.scrubbing import Scrubber, local_names
from kgbench.secrets import key_patterns
from kgbench.vocab import KGB, RDF


class _Finder(NamedTuple):
    """A pattern with literal hints: searching for these first makes most searches cheap."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]

    def find(self, text: str) -> str | None:
        """Return the first match."""
        if not any(hint in text for hint in self.hints):
            return None
        match = self.pattern.search(text)
        return None if match is None else match.group()


_PLACES = (
    _Finder(
        "a local path",
        (
            "/home/",
            "/Users/",
            "/root/",
            "/mnt/",
            "/srv/",
            "file:/",
            "\\Users\\",
            "~",
        ),
        re.compile(
            r"(?:(?<![\w/.])|(?<=%[0-9A-Fa-f]{2}))/(?:home|Users|root|mnt|srv)/[\w.@+-]+"
            r"|\b[A-Za-z]:\\+Users\\+[\w.@+-]+"
            r"|\bfile:///?[\w.~-]"
            r"|(?<![\w/.<~])~[A-Za-z_][\w.-]*+/"
        ),
    ),
    _Finder(
        "a local path",
        ("%2", "%3"),
        re.compile(
            r"%(?:25){0,3}2[Ff](?:home|Users|root|mnt|srv)%(?:25){0,3}2[Ff][\w.@+-]+"
            r"|\b[A-Za-z]%(?:25){0,3}3[Aa]%(?:25){0,3}5CUsers%(?:25){0,3}5C[\w.@+-]+"
        ),
    ),
    _Finder(
        "a host",
        ("localhost", "127.", "192.168.", "10.", "172."),
        re.compile(
            r"\blocalhost(?::\d+)?\b|(?<![\w.])127\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
            r"|(?<![\w.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}(?![\w.])"
        ),
    ),
    _Finder(
        "a host",
        (".local", ".lan", ".internal", ".intranet"),
        re.compile(
            r"(?<![\w.-])(?:[A-Za-z0-9-]+\.){1,8}(?:local|lan|internal|intranet|localdomain)(?![\w.-])"
        ),
    ),
    _Finder("a user", ("@",), re.compile(r"[a-z]://[^\s/@\"<>]{1,200}:[^\s/@\"<>]{1,200}@")),
)
_TYPE, _CONFIGURATION = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Configuration)
_EXEMPT = frozenset((KGB.caseData, KGB.infos, KGB.tableJson))
_SHORTEST = 4
_ANYWHERE = "https://example.org/"
_REMEDY = "Remove it from the store or from the publication, and revoke a key that was published."
_TEXTS = (".html", ".svg", ".json", ".ttl", ".rq", ".txt")
_SAME = (".jsonld", ".nt")  # the Turtle beside them has the same statements


def check(published: PublicationFiles, names: Iterable[str] | None = None) -> Iterator[Fault]:
    """Yield private data in the files; ``names`` are by default those of this machine and user."""
    known = frozenset(local_names() if names is None else names)
    private = (*_PLACES, *_name_finders(known))
    yield from _iris(published, Scrubber(known))
    yield from _literals(published, private)
    for name, path in published.files.items():
        if path.suffix not in _TEXTS and ("/" in name or path.suffix not in _SAME):
            continue
        text = published.text(name)
        for key in key_patterns.published_keys(text):
            yield _fault("secret", "", name, "a key", key)
        if "/" not in name or name.startswith(("version/", "queries/")):
            # The publisher chose the base, which may be on a private network.
            yield from _private("", name, text.replace(published.base or _ANYWHERE, ""), private)


def _iris(published: PublicationFiles, scrubber: Scrubber) -> Iterator[Fault]:
    """Yield what IRIs reveal, each once, at the first statement that has it."""
    seen = set()
    for quad in published.quads:
        datatype = getattr(quad.object, "datatype", None)
        for term in (quad.subject, quad.predicate, quad.object, quad.graph_name, datatype):
            if not isinstance(term, ox.NamedNode) or term.value in seen:
                continue
            seen.add(term.value)
            told = term.value.replace(published.base or _ANYWHERE, _ANYWHERE, 1)
            if (found := scrubber.revealed(told)) is not None:
                constraint = "secret" if found.kind == "a key" else "private"
                yield from _fault_of_quad(published, quad, constraint, *found)


def _literals(published: PublicationFiles, private: tuple[_Finder, ...]) -> Iterator[Fault]:
    for quad in published.quads:
        value: Any = quad.object
        if not isinstance(value, ox.Literal) or len(value.value) < _SHORTEST:
            continue
        text = value.value
        for key in key_patterns.published_keys(text):
            yield from _fault_of_quad(published, quad, "secret", "a key", key)
        if quad.predicate.value in _EXEMPT:
            continue
        if quad.predicate.value in TEXT_VALUES and not _is_configuration(published, quad.subject):
            continue
        if value.language or value.datatype.value.endswith(("integer", "double", "dateTime")):
            continue  # texts with a language are declarations
        node = getattr(quad.subject, "value", "")
        for fault in _private(node, "", text, private):
            yield fault._replace(file=published.file_of(quad.subject))


def _is_configuration(published: PublicationFiles, node: Any) -> bool:
    """Return whether ``node`` is a configuration, whose text may name files and servers."""
    return any(published.quads.quads_for_pattern(node, _TYPE, _CONFIGURATION))


def _private(node: str, file: str, text: str, private: tuple[_Finder, ...]) -> Iterator[Fault]:
    for finder in private:
        match = finder.find(text)
        if match is not None:
            yield _fault("private", node, file, finder.kind, match)


def _fault_of_quad(
    published: PublicationFiles, quad: Any, constraint: str, kind: str, text: str
) -> Iterator[Fault]:
    node = getattr(quad.subject, "value", "")
    yield _fault(constraint, node, published.file_of(quad.subject), kind, text)


def _fault(constraint: str, node: str, file: str, kind: str, text: str) -> Fault:
    """Return a fault with the beginning of the match only, so that it does not reveal a key."""
    start = text[:6] if constraint == "secret" else text[:60]
    return Fault(constraint, node, file, f"It reveals {kind}: {start}...", _REMEDY)


def _name_finders(names: Iterable[str]) -> Iterator[_Finder]:
    common = {"root", "user", "admin", "runner", "ubuntu", "localhost", "home", "data", "main"}
    for name in sorted(set(names)):
        if len(name) >= _SHORTEST and name.lower() not in common:
            pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            yield _Finder("a name", (name,), pattern)
