# SPDX-License-Identifier: Apache-2.0
"""The software of a run: kgbench's version, the state of its code, and its packages."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata

import kgbench
from kgbench import resources
from kgbench.rdf import canonical_json, digest
from kgbench.record.recorder import software_entry
from kgbench.store.iris import Iris, slug

_VERSION = re.compile(r"^Version: *(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Software:
    """A piece of software; ``commit`` and ``dirty`` are known in a checkout only."""

    name: str
    version: str
    commit: str | None = None
    dirty: bool | None = None
    packages: dict[str, str] = field(default_factory=dict)

    def iri(self, iris: Iris) -> str:
        """Return the IRI, which depends on the state of the code and on the packages."""
        version = slug(self.version)
        if self.commit is not None:
            version += f"+{self.commit[:12]}{'.dirty' if self.dirty else ''}"
        if self.packages:
            version += f"~{digest(canonical_json(self.packages))[:8]}"
        return iris.mint("software", name=slug(self.name), version=version)

    def entry(self, iris: Iris) -> list[str]:
        """Return the triples that describe the software, as N-Triples lines."""
        return software_entry(
            self.iri(iris),
            self.name,
            self.version,
            commit=self.commit,
            dirty=self.dirty,
            packages=self.packages or None,
        )


@cache
def this_software() -> Software:
    """Return a description of the running kgbench."""
    commit, dirty = _git_state()
    return Software("kgbench", kgbench.__version__, commit, dirty, _packages())


def _git_state() -> tuple[str | None, bool | None]:
    root = resources.checkout()
    if root is None or not (root / ".git").exists():
        return None, None
    try:
        commit = _git(str(root), "rev-parse", "HEAD")
        changed = _git(str(root), "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None, None
    return commit, bool(changed)


def _git(root: str, *arguments: str) -> str:
    result = subprocess.run(  # noqa: S603 - fixed arguments
        ["git", "-C", root, *arguments],  # noqa: S607 - git is where the user has it
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return result.stdout.strip()


def _packages() -> dict[str, str]:
    """Return the installed versions of kgbench's direct dependencies, extras included."""
    try:
        required = metadata.requires("kgbench") or []
    except metadata.PackageNotFoundError:
        return {}
    names = {re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0] for requirement in required}
    versions = {name: _version(name) for name in sorted(names)}
    return {name: version for name, version in versions.items() if version is not None}


def _version(name: str) -> str | None:
    """Return the installed version of a package, without parsing all of its metadata."""
    try:
        text = metadata.distribution(name).read_text("METADATA")
    except metadata.PackageNotFoundError:
        return None
    match = None if text is None else _VERSION.search(text)
    return metadata.version(name) if match is None else match[1]
