# SPDX-License-Identifier: Apache-2.0
"""The publisher's description of a data set: title, licence, creators and more.

It comes from options, or from a Turtle file that describes one ``dcat:Dataset``; options have
precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCAT, DCTERMS, FOAF, RDFS, SCHEMA, VCARD

_SPDX = re.compile(r"[A-Za-z0-9.+-]+")
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
        return _Description(declared, declared.only(DCAT.Dataset)).about()
    except ResourceError as error:
        raise PublicationRefused(str(error)) from error


class _Description:
    """The properties of one node in a Turtle file."""

    def __init__(self, declared: Declared, node: Any) -> None:
        self._declared = declared
        self._node = node

    def about(self) -> DatasetDescription:
        """Return the description."""
        values, text = self._values, self._text
        publishers = self._agents(DCTERMS.publisher)
        return DatasetDescription(
            title=text(DCTERMS["title"]) or TITLE,
            description=text(DCTERMS.description) or DESCRIPTION,
            licence=licence(licence_text) if (licence_text := text(DCTERMS.license)) else None,
            creators=self._agents(DCTERMS.creator),
            publisher=publishers[0] if publishers else None,
            keywords=tuple(sorted(v.value for v in values(self._node, DCAT.keyword))),
            contact=next(
                filter(None, map(self._contact, values(self._node, DCAT.contactPoint))), None
            ),
            sources=tuple(sorted(_iris(values(self._node, DCTERMS.source, DCTERMS.references)))),
        )

    def _values(self, subject: Any, *predicates: str) -> list[Any]:
        return [
            value
            for predicate in predicates
            for value in self._declared.objects(subject, predicate)
        ]

    def _text(self, *predicates: str) -> str | None:
        values = self._values(self._node, *predicates)
        texts = [v.value for v in values if not isinstance(v, ox.BlankNode)]
        return texts[0] if texts else None

    def _agents(self, *predicates: str) -> tuple[Agent, ...]:
        agents = []
        for value in self._values(self._node, *predicates):
            if isinstance(value, ox.Literal):
                agents.append(Agent(value.value))
                continue
            names = self._values(value, FOAF.name, SCHEMA.name, RDFS.label, DCTERMS["title"])
            iri = value.value if isinstance(value, ox.NamedNode) else None
            agents.append(Agent(names[0].value if names else iri or "unnamed", iri))
        return tuple(sorted(agents, key=attrgetter("name")))

    def _contact(self, value: Any) -> Agent | None:
        """Return the contact for a text, an address or a vCard; ``None`` for an empty one."""
        if isinstance(value, ox.Literal):
            return Agent(value.value)
        addresses = _iris([*self._values(value, VCARD.hasEmail, VCARD.hasURL), value])
        names = [v.value for v in self._values(value, VCARD.fn, FOAF.name, RDFS.label)]
        return next(
            (Agent(name, addresses[0] if addresses else None) for name in (*names, *addresses)),
            None,
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
    changed: dict[str, Any] = {}
    if title:
        changed["title"] = title
    if description:
        changed["description"] = description
    if licence_given:
        changed["licence"] = licence(licence_given)
    if creators:
        changed["creators"] = tuple(map(agent, creators))
    if publisher:
        changed["publisher"] = agent(publisher)
    if keywords:
        changed["keywords"] = tuple(keywords)
    return replace(metadata, **changed)


def licence(text: str) -> str:
    """Return the IRI of a licence, given as IRI or as SPDX identifier.

    >>> licence("CC-BY-4.0")
    'https://spdx.org/licenses/CC-BY-4.0'
    """
    if text.startswith(("http://", "https://")):
        return _iri(text, "licence")
    identifier = _spdx_identifier(text)
    if identifier is None:
        raise PublicationRefused(
            f"'{text}' is neither the IRI nor the SPDX identifier of a licence (such as CC-BY-4.0; "
            "https://spdx.org/licenses/ lists all)"
        )
    return f"https://spdx.org/licenses/{identifier}"


def _spdx_identifier(text: str) -> str | None:
    """Return the identifier with the case of the SPDX list, or ``None`` if it is not in it."""
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    # Expressions and references to other documents are valid for packages, but have no page.
    if not _SPDX.fullmatch(text) or text.lower().startswith("licenseref-") or text.endswith("+"):
        return None
    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        return None


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
