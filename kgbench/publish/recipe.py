# SPDX-License-Identifier: Apache-2.0
"""The recipe of a publication: settings, versions and software that its documents depend on.

It is published as ``publication.json``, so that anybody can make the documents again from the dumps
and compare them.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kgbench import __version__, resources
from kgbench.errors import ResourceError
from kgbench.publish.description import Agent, DatasetDescription
from kgbench.publish.manifest import Version
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.settings import Settings

FILE = "publication.json"
_PACKAGES = ("pyoxigraph", "jinja2", "markupsafe", "matplotlib", "numpy", "scipy", "zstandard")
_CODE = (".py", ".html", ".css", ".js", ".rq", ".ttl", ".svg")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a publication, the base of its store, its versions and the software."""

    store: str
    settings: Settings
    versions: tuple[Version, ...]
    software: dict[str, str]


def serialise(settings: Settings, store: str, versions: Iterable[Version]) -> str:
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


def read(path: Path, out: Path) -> Recipe:
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
