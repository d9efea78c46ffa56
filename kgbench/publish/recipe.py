# SPDX-License-Identifier: Apache-2.0
"""How a publication was made: what its dumps do not say, and its documents depend on.

Published as ``publication.json``, so that anybody can make the documents again from the dumps and
compare them.
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
from kgbench.publish.about import About, Agent
from kgbench.publish.manifest import Dump, Version
from kgbench.publish.settings import Settings
from kgbench.publish.withholding import Level

FILE = "publication.json"
_PACKAGES = ("pyoxigraph", "jinja2", "markupsafe", "matplotlib", "numpy", "scipy", "zstandard")
_CODE = (".py", ".html", ".css", ".js", ".rq", ".ttl", ".svg")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a publication, the base of its store, its versions and the software.

    ``signed`` and ``encrypted`` say what the settings, which hold no secrets, cannot.
    """

    store: str
    settings: Settings
    encrypted: bool
    signed: bool
    versions: tuple[Version, ...]
    software: dict[str, str]


def written(settings: Settings, store: str, versions: Iterable[Version]) -> str:
    """The recipe as JSON; ``store`` is the base of the store."""
    said = {
        "store": store,
        "base": settings.base,
        "level": settings.level.name.lower(),
        "encrypted": settings.password is not None,
        "signed": settings.signer is not None,
        "compression": settings.compression,
        "endpoint": settings.endpoint,
        "about": asdict(settings.about),
        "versions": [asdict(one) for one in versions],
        "software": software(),
    }
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


def read(path: Path, out: Path) -> Recipe:
    """The recipe in a file, for a publication that is made anew in ``out``.

    Raises :class:`~kgbench.errors.ResourceError` where it cannot be read.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        settings = Settings(
            location=str(out),
            out=out,
            base=str(said["base"]),
            level=Level[said["level"].upper()],
            endpoint=said["endpoint"],
            about=_about(said["about"]),
            compression=str(said["compression"]),
            processes=1,
        )
        versions = tuple(
            Version(**{**one, "dumps": tuple(Dump(**dump) for dump in one["dumps"])})
            for one in said["versions"]
        )
        return Recipe(
            str(said["store"]),
            settings,
            bool(said["encrypted"]),
            bool(said.get("signed")),
            versions,
            dict(said["software"]),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ResourceError(f"cannot be read: {error}") from error


@cache
def software() -> dict[str, str]:
    """Whatever the bytes of pages and figures depend on besides the data, with versions."""
    found = {"kgbench": __version__, "code": _code(), "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def _code() -> str:
    """The SHA-256 over all code, templates and queries."""
    found = hashlib.sha256()
    package = Path(__file__).resolve().parent.parent
    for folder in (package, Path(resources.folder("queries"))):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE:
                found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def _about(said: dict[str, Any]) -> About:
    def agent(one: dict[str, Any] | None) -> Agent | None:
        return None if one is None else Agent(**one)

    return About(
        **{
            **said,
            "creators": tuple(Agent(**one) for one in said["creators"]),
            "publisher": agent(said["publisher"]),
            "contact": agent(said["contact"]),
            "keywords": tuple(said["keywords"]),
            "sources": tuple(said["sources"]),
        }
    )
