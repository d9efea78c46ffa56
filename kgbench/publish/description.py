# SPDX-License-Identifier: Apache-2.0
"""The publisher's description of a data set: title, licence, creators and more.

It comes from options, or from a Turtle file that describes one ``dcat:Dataset``; options have
precedence.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCAT, DCTERMS, FOAF, RDFS, SCHEMA, VCARD

_SPDX = re.compile(r"[A-Za-z0-9.+-]*[A-Za-z0-9.-]")
_CREATOR = re.compile(r"(?P<name>[^<>]*?)\s*(?:<(?P<iri>[^<>\s]+)>)?")
TITLE = "Results recorded by kgbench"
DESCRIPTION = (
    "How well language models work with knowledge graphs: every prompt, answer and score, "
    "with its provenance."
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A person or an organisation; ``iri`` is an ORCID or a homepage, if known."""

    name: str
    iri: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetDescription:
    """The description of a data set; ``licence`` and ``sources`` are IRIs.

    ``contact`` is a contact point with the IRI of a mailbox (``mailto:``) or of a page.
    """

    title: str = TITLE
    description: str = DESCRIPTION
    licence: str | None = None
    creators: tuple[Agent, ...] = ()
    publisher: Agent | None = None
    keywords: tuple[str, ...] = ()
    contact: Agent | None = None
    sources: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What DCAT-AP or MLDCAT-AP requires and is missing, each with the option that adds it."""
        notes = []
        if self.licence is None:
            notes.append("no licence is given, so nobody may use the data: add --licence CC-BY-4.0")
        if not self.creators:
            what = "creator" if self.publisher else "creator or publisher"
            notes.append(f"no {what} is named: add --creator 'Name <IRI>'")
        return tuple(notes)


def read(path: Path) -> DatasetDescription:
    """Read the description in a Turtle file.

    Raises :class:`~kgbench.errors.PublicationRefused` if the file cannot be read, or does not
    describe exactly one ``dcat:Dataset``.
    """
    try:
        declared = Declared(path, base="https://example.org/")
        dataset = declared.only(DCAT.Dataset)
    except ResourceError as error:
        raise PublicationRefused(str(error)) from error

    def values(subject: Any, *predicates: str) -> list[Any]:
        return [value for name in predicates for value in declared.objects(subject, name)]

    def text(predicate: str) -> str | None:
        found = values(dataset, predicate)
        return next((v.value for v in found if not isinstance(v, ox.BlankNode)), None)

    def agent(value: Any) -> Agent:
        if isinstance(value, ox.Literal):
            return Agent(value.value)
        names = values(value, FOAF.name, SCHEMA.name, RDFS.label, DCTERMS["title"])
        iri = value.value if isinstance(value, ox.NamedNode) else None
        return Agent(names[0].value if names else iri or "unnamed", iri)

    def agents(predicate: str) -> tuple[Agent, ...]:
        return tuple(sorted(map(agent, values(dataset, predicate)), key=attrgetter("name")))

    def contact(value: Any) -> Agent | None:
        """Return the contact for a text, an address or a vCard; ``None`` for an empty one."""
        if isinstance(value, ox.Literal):
            return Agent(value.value)
        addresses = _iris([*values(value, VCARD.hasEmail, VCARD.hasURL), value])
        address = next(iter(addresses), None)
        names = [v.value for v in values(value, VCARD.fn, FOAF.name, RDFS.label)]
        return next((Agent(name, address) for name in (*names, *addresses)), None)

    licence_text = text(DCTERMS.license)
    return DatasetDescription(
        title=text(DCTERMS["title"]) or TITLE,
        description=text(DCTERMS.description) or DESCRIPTION,
        licence=licence(licence_text) if licence_text else None,
        creators=agents(DCTERMS.creator),
        publisher=next(iter(agents(DCTERMS.publisher)), None),
        keywords=tuple(sorted(v.value for v in values(dataset, DCAT.keyword))),
        contact=next(filter(None, map(contact, values(dataset, DCAT.contactPoint))), None),
        sources=tuple(sorted(_iris(values(dataset, DCTERMS.source, DCTERMS.references)))),
    )


def with_options(
    metadata: DatasetDescription,
    *,
    title: str | None,
    description: str | None,
    licence_given: str | None,
    creators: list[str],
    publisher: str | None,
    keywords: list[str],
) -> DatasetDescription:
    """Return ``metadata`` with the values of options.

    Raises :class:`~kgbench.errors.PublicationRefused` for an invalid licence or agent.
    """
    given = {
        "title": title,
        "description": description,
        "licence": licence(licence_given) if licence_given else None,
        "creators": tuple(map(agent, creators)),
        "publisher": agent(publisher) if publisher else None,
        "keywords": tuple(keywords),
    }
    changed: dict[str, Any] = {name: value for name, value in given.items() if value}
    return replace(metadata, **changed)


def licence(text: str) -> str:
    """Return the IRI of a licence, given as IRI or as SPDX identifier.

    >>> licence("CC-BY-4.0")
    'https://spdx.org/licenses/CC-BY-4.0'
    """
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    if text.startswith(("http://", "https://")):
        return _iri(text, "licence")
    # Expressions and references to other documents are valid for packages, but have no page.
    if _SPDX.fullmatch(text) and not text.lower().startswith("licenseref-"):
        with contextlib.suppress(InvalidLicenseExpression):
            return f"https://spdx.org/licenses/{canonicalize_license_expression(text)}"
    raise PublicationRefused(
        f"'{text}' is neither the IRI nor the SPDX identifier of a licence (such as CC-BY-4.0; "
        "https://spdx.org/licenses/ lists all)"
    )


def agent(text: str) -> Agent:
    """Parse a person or an organisation written as ``Name`` or ``Name <IRI>``.

    >>> agent("Ada Lovelace <https://orcid.org/0000-0000-0000-0000>").name
    'Ada Lovelace'
    """
    match = _CREATOR.fullmatch(text.strip())
    if match is None or not match["name"]:
        raise PublicationRefused(f"'{text}' has no name: write 'Name' or 'Name <IRI>'")
    return Agent(match["name"], None if match["iri"] is None else _iri(match["iri"], "creator"))


def _iri(text: str, noun: str) -> str:
    try:
        return ox.NamedNode(text).value
    except ValueError as error:
        raise PublicationRefused(f"'{text}' is not the IRI of a {noun}: {error}") from error


def _iris(terms: list[Any]) -> list[str]:
    return [term.value for term in terms if isinstance(term, ox.NamedNode)]
