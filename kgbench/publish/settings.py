# SPDX-License-Identifier: Apache-2.0
"""Settings of a publication, the publisher's description of the data set, and the recipe.

The description (title, licence, creators and more) comes from options, or from a Turtle file that
describes one ``dcat:Dataset``; options have precedence. The recipe (settings, versions of the data
set, software) is published as ``publication.json``, so that anybody can make the documents again
from the dumps and compare them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgbench import __version__, resources
from kgbench.errors import PublicationRefused, ResourceError
from kgbench.publish.folder import Version
from kgbench.publish.redaction import RedactionLevel
from kgbench.rdf.declared import Declared
from kgbench.vocab import DCAT, DCTERMS, FOAF, RDFS, SCHEMA, VCARD

if TYPE_CHECKING:
    from kgbench.publish.signing import Signer

_SPDX = re.compile(r"[A-Za-z0-9.+-]*[A-Za-z0-9.-]")
_CREATOR = re.compile(r"(?P<name>[^<>]*?)\s*(?:<(?P<iri>[^<>\s]+)>)?")
TITLE = "Results recorded by kgbench"
DESCRIPTION = (
    "How well language models work with knowledge graphs: every prompt, answer and score, "
    "with its provenance."
)
PASSWORD = "KGBENCH_PUBLISH_PASSWORD"  # noqa: S105 - the name of a variable
_PROCESSES = 2
RECIPE = "publication.json"
_PACKAGES = ("pyoxigraph", "jinja2", "markupsafe", "matplotlib", "numpy", "scipy", "zstandard")
_CODE = (".py", ".html", ".css", ".js", ".rq", ".ttl", ".svg")


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


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one publication.

    ``level`` says what is left out of the dumps. With a ``password`` the dumps are encrypted and
    pages have no texts at all. ``unprotected`` names the protected suites whose texts may be
    published in the clear. ``runs`` are the runs to publish (IRI, id or label; all if empty). A
    publication with a ``signer`` is ``signed``; a check makes one again without its signer.
    """

    location: str
    out: Path
    base: str
    level: RedactionLevel = RedactionLevel.GOLD
    unprotected: frozenset[str] = frozenset()
    password: str | None = None
    runs: tuple[str, ...] = ()
    endpoint: str | None = None
    metadata: DatasetDescription = field(default_factory=DatasetDescription)
    compression: str = "zstd"
    processes: int = _PROCESSES
    signer: Signer | None = None
    signed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "signed", self.signed or self.signer is not None)

    @property
    def page_level(self) -> RedactionLevel:
        """The level of what is left out of pages."""
        return self.level if self.password is None else RedactionLevel.ANSWERS


def checked_base(text: str) -> str:
    """Return ``text`` as the base of a publication: an absolute http(s) IRI that ends in ``/``.

    Raises :class:`~kgbench.errors.PublicationRefused` if it is not usable.
    """
    base = text if text.endswith("/") else text + "/"
    problem = _problem(base)
    if problem is not None:
        raise PublicationRefused(
            f"--base '{text}' {problem}: give the address at which the folder will be found, "
            "such as https://example.org/bench/"
        )
    return base


def checked_endpoint(text: str) -> str:
    """Return ``text`` as the address of a public SPARQL endpoint.

    Raises :class:`~kgbench.errors.PublicationRefused` if it is not usable.
    """
    problem = _problem(text)
    if problem is not None:
        raise PublicationRefused(f"--endpoint '{text}' {problem}")
    return text


def _problem(text: str) -> str | None:
    try:
        ox.NamedNode(text)
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return "is not an IRI"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "is not an http or https address"
    if parts.query or parts.fragment or parts.username or parts.password:
        return "has a user, a query or a fragment"
    if "//" in parts.path or "/../" in parts.path or "/./" in parts.path:
        return "has a path that is not in its shortest form"
    return None


# --- recipes ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a publication, the base of its store, its versions and the software."""

    store: str
    settings: Settings
    versions: tuple[Version, ...]
    software: dict[str, str]


def recipe(settings: Settings, store: str, versions: Iterable[Version]) -> str:
    """Return the recipe as JSON; ``store`` is the base of the store."""
    content = {
        "store": store,
        "base": settings.base,
        "level": settings.level.name.lower(),
        "encrypted": settings.password is not None,
        "signed": settings.signed,
        "compression": settings.compression,
        "endpoint": settings.endpoint,
        "about": asdict(settings.metadata),
        "versions": list(map(asdict, versions)),
        "software": software(),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_recipe(path: Path, out: Path) -> Recipe:
    """Read a recipe, with settings for making the publication again in ``out``.

    Raises :class:`~kgbench.errors.ResourceError` if it cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        settings = Settings(
            location=str(out),
            out=out,
            base=str(content["base"]),
            level=RedactionLevel[content["level"].upper()],
            endpoint=content["endpoint"],
            metadata=_about(content["about"]),
            compression=str(content["compression"]),
            processes=1,
            signed=bool(content["signed"]),
        )
        versions = tuple(map(Version.read, content["versions"]))
        return Recipe(str(content["store"]), settings, versions, dict(content["software"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ResourceError(f"cannot be read: {error}") from error


@cache
def software() -> dict[str, str]:
    """Return the versions of all software that the bytes of pages and figures depend on."""
    versions = {"kgbench": __version__, "code": _code(), "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = ""
    return versions


def _code() -> str:
    """Return the SHA-256 over all code, templates and queries."""
    hasher = hashlib.sha256()
    package = Path(__file__).resolve().parent.parent
    for folder in (package, Path(resources.folder("queries"))):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE:
                hasher.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return hasher.hexdigest()


def _about(fields: dict[str, Any]) -> DatasetDescription:
    agents = {
        name: None if fields[name] is None else Agent(**fields[name])
        for name in ("publisher", "contact")
    }
    lists = {name: tuple(fields[name]) for name in ("keywords", "sources")}
    creators = tuple(Agent(**item) for item in fields["creators"])
    return DatasetDescription(**{**fields, **agents, **lists, "creators": creators})
