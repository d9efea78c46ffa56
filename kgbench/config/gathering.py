# SPDX-License-Identifier: Apache-2.0
"""A configuration together with the files that it includes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgbench.config import conformance, documents, graphs, settings
from kgbench.config.settings import Entry, Settings
from kgbench.config.trees import below
from kgbench.errors import ConfigurationError, Finding

MAX_FILES = 100


@dataclass(frozen=True, slots=True)
class Gathered:
    """The settings of the configuration itself, and the entries of all files in order.

    The entries of an included file come before those of the including file. ``folder`` is the
    folder of the configuration, to which its paths are relative.
    """

    folder: Path
    settings: Settings
    tasks: tuple[Entry, ...]
    models: tuple[Entry, ...]


def gather(path: Path) -> Gathered:
    """Read the configuration at ``path`` and all files that it includes.

    Raises :class:`~kgbench.errors.ConfigurationError` with the findings of all its files.
    """
    reading = _Reading()
    reading.visit(path, str(path), graphs.CONFIGURATION, ())
    if reading.findings:
        raise ConfigurationError(reading.findings)
    files = reading.files
    return Gathered(
        folder=path.parent,
        settings=files[-1],
        tasks=tuple(entry for file in files for entry in file.tasks),
        models=tuple(entry for file in files for entry in file.models),
    )


class _Reading:
    def __init__(self) -> None:
        self.files: list[Settings] = []
        self.findings: list[Finding] = []
        self.seen: set[Path] = set()

    def visit(self, path: Path, source: str, root_type: str, around: tuple[Path, ...]) -> None:
        """Read a file and those it includes; ``around`` is the chain of including files."""
        try:
            read = self._read_file(path, source, root_type)
        except ConfigurationError as error:
            self.findings += error.findings
            return
        chain = (*around, path.resolve())
        self.seen.add(path.resolve())
        for number, written in enumerate(read.include):
            self._include(read, below("/include", number), path.parent / written, chain)
        self.files.append(read)

    def _read_file(self, path: Path, source: str, root_type: str) -> Settings:
        graph = graphs.read(documents.read(path, source), root_type)
        refused = conformance.findings(graph)
        if refused:
            raise ConfigurationError(refused)
        return settings.read(graph)

    def _include(
        self, including: Settings, pointer: str, path: Path, chain: tuple[Path, ...]
    ) -> None:
        message = None
        if not is_file(path):
            message = f"the included file is missing: there is no file {path}"
        elif path.resolve() in chain:
            message = f"the include is cyclic: {path} leads back to itself"
        elif len(self.seen) >= MAX_FILES:
            message = f"more than {MAX_FILES} files are included"
        if message is not None:
            self.findings.append(including.origin.finding(pointer, message))
        elif path.resolve() not in self.seen:
            self.visit(path, str(path), graphs.PART, chain)


def is_file(path: Path) -> bool:
    """Return whether ``path`` is an accessible file; never raises."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
