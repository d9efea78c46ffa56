# SPDX-License-Identifier: Apache-2.0
"""The build hook: the files that git tracks travel, and no others.

Hatchling's own selection also packs what merely lies in a folder: a results database, an
encrypted case's plain text, a key. So the configuration excludes everything, and this hook
names each file. In a wheel the declared folders stand beside the code as
``kgbench/declared/<folder>``, where :mod:`kgbench.resources` looks for them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from pathspec import GitIgnoreSpec

#: The same names as ``kgbench.resources.FOLDERS``, which cannot be imported before it is built.
DECLARED = ("ontology", "shapes", "tasks", "queries", "rubrics", "store")

#: What `make yasgui` has put beside the pages travels, too; a build without it is complete.
FETCHED = tuple(
    f"kgbench/serve/static/yasgui/{name}"
    for name in ("package.json", "yasgui.min.css", "yasgui.min.js")
)


def tracked_files(root: Path) -> list[str]:
    """Paths, relative to ``root``, of the files that belong to the project, sorted.

    In a checkout git is asked. An unpacked source distribution has no git, but holds nothing
    else; what grew in it since (results, caches) is left out by the ``.gitignore`` it carries.
    A checkout whose git does not answer raises :class:`RuntimeError` rather than guess.
    """
    names = _ask_git(root) if (root / ".git").exists() else _not_ignored(root)
    return sorted(name for name in names if (root / name).is_file())


def wheel_path(name: str) -> str | None:
    """Where the project's file ``name`` goes in a wheel; ``None`` if it stays out."""
    top, separator, _ = name.partition("/")
    if not separator:
        return None
    if top in DECLARED:
        return f"kgbench/declared/{name}"
    return name if top == "kgbench" else None


class TrackedFiles(BuildHookInterface[BuilderConfig]):
    """Names every file of a wheel or source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to ``build_data``; an editable install points to the checkout instead."""
        if version == "editable":
            return
        root = Path(self.root)
        fetched = [name for name in FETCHED if (root / name).is_file()]
        for name in [*tracked_files(root), *fetched]:
            target = wheel_path(name) if self.target_name == "wheel" else name
            if target is not None:
                build_data["force_include"][str(root / name)] = target


def _ask_git(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed words
    except FileNotFoundError as error:
        raise RuntimeError(
            f"{root} is a git checkout, but there is no git command to say which files belong "
            f"to it: install git, or build from the source distribution"
        ) from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"git does not say which files of {root} it tracks: {said}") from error
    return [name for name in listed.stdout.decode().split("\0") if name]


def _not_ignored(root: Path) -> Iterable[str]:
    rules = root / ".gitignore"
    lines = rules.read_text(encoding="utf-8").splitlines() if rules.is_file() else []
    ignored = GitIgnoreSpec.from_lines(lines)
    for found in root.rglob("*"):
        name = found.relative_to(root).as_posix()
        # PKG-INFO is made anew by every build.
        if name != "PKG-INFO" and found.is_file() and not ignored.match_file(name):
            yield name
