# SPDX-License-Identifier: Apache-2.0
"""Settings of a publication: source and target, what is left out, how the data set is described."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.publish.description import DatasetDescription
from kgbench.publish.redaction import RedactionLevel

if TYPE_CHECKING:
    from kgbench.publish.signing import Signer

PASSWORD = "KGBENCH_PUBLISH_PASSWORD"  # noqa: S105 - the name of a variable
_PROCESSES = 2


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
