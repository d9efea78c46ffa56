# SPDX-License-Identifier: Apache-2.0
"""The build hook: it packages the files that git tracks, and no others.

Hatchling's own selection also includes untracked files: a results database, an encrypted
case's plain text, a key. So the configuration excludes everything, and this hook names each
file. In a wheel the declared folders are ``kgbench/declared/<folder>``, where
:mod:`kgbench.resources` looks for them.
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
DECLARED = ("ontology", "shapes", "tasks", "queries", "store")

#: Files that `make yasgui` adds to the pages; a build without them is complete.
FETCHED = tuple(
    f"kgbench/serve/static/yasgui/{name}"
    for name in ("package.json", "yasgui.min.css", "yasgui.min.js")
)


def tracked_files(root: Path) -> list[str]:
    """Paths, relative to ``root``, of the files that belong to the project, sorted.

    In a checkout git lists them. An unpacked source distribution has no git and no other files,
    except later ones (results, caches), which its ``.gitignore`` excludes. Raises
    :class:`RuntimeError` if git fails in a checkout.
    """
    names = _listed_by_git(root) if (root / ".git").exists() else _not_ignored(root)
    return sorted(name for name in names if (root / name).is_file())


def wheel_path(name: str) -> str | None:
    """Return the path in a wheel of the project's file ``name``; ``None`` if it is left out."""
    top, separator, _ = name.partition("/")
    if not separator or Path(name).match("test_*.py"):
        return None
    if top in DECLARED:
        return f"kgbench/declared/{name}"
    return name if top == "kgbench" else None


class TrackedFiles(BuildHookInterface[BuilderConfig]):
    """The hook that adds every file of a wheel or source distribution."""

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


def _listed_by_git(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached"]
    try:
        done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command
    except FileNotFoundError as error:
        raise RuntimeError(
            f"{root} is a git checkout, but the git command that lists its files is missing: "
            f"install git, or build from the source distribution"
        ) from error
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"git cannot list the tracked files of {root}: {message}") from error
    return [name for name in done.stdout.decode().split("\0") if name]


def _not_ignored(root: Path) -> Iterable[str]:
    rules = root / ".gitignore"
    lines = rules.read_text(encoding="utf-8").splitlines() if rules.is_file() else []
    ignored = GitIgnoreSpec.from_lines(lines)
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        # Every build writes PKG-INFO.
        if name != "PKG-INFO" and path.is_file() and not ignored.match_file(name):
            yield name
