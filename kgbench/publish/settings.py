# SPDX-License-Identifier: Apache-2.0
"""Settings of a publication, and its recipe: what it depends on beside the data.

The recipe (settings, versions of the data set, software) is published as ``publication.json``, so
that anybody can make the documents again from the dumps and compare them.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgbench import __version__, resources
from kgbench.errors import PublicationRefused, ResourceError
from kgbench.publish.description import Agent, DatasetDescription
from kgbench.publish.folder import Version
from kgbench.publish.redaction import RedactionLevel

if TYPE_CHECKING:
    from kgbench.publish.signing import Signer

PASSWORD = "KGBENCH_PUBLISH_PASSWORD"  # noqa: S105 - the name of a variable
_PROCESSES = 2
RECIPE = "publication.json"
_PACKAGES = ("pyoxigraph", "jinja2", "markupsafe", "matplotlib", "numpy", "scipy", "zstandard")
_CODE = (".py", ".html", ".css", ".js", ".rq", ".ttl", ".svg")


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
