# SPDX-License-Identifier: Apache-2.0
"""The members of collections, sorted on disk, because they are as many as all scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from kgbench.publish.folder import Folder
from kgbench.vocab import PROV

_AT_ONCE = 50_000  # lines in memory
_DIGITS = 2  # leading digits of a name that select its work file: 256 files


class Members:
    """Statements about members, as N-Triples, in work files of ``folder``.

    ``start`` is the common beginning of the IRIs of collections; a name of hexadecimal digits
    follows.
    """

    def __init__(self, folder: Folder, start: str) -> None:
        self._folder = folder
        self._start = start
        self._waiting: dict[str, list[str]] = defaultdict(list)
        self._lines = 0
        self.counts: Counter[str] = Counter()

    def add(self, name: str, member: str) -> None:
        """Add a member (IRI) to the collection with this name."""
        self.counts[name] += 1
        self._waiting[name[:_DIGITS]].append(f"{name} {member}\n")
        self._lines += 1
        if self._lines >= _AT_ONCE:
            self._flush()

    def sorted(self) -> Iterator[list[str]]:
        """Yield all statements in order, in batches; can be called once only."""
        self._flush()
        for digits in sorted({name[:_DIGITS] for name in self.counts}):
            path = self._path(digits)
            with path.open(encoding="utf-8") as lines:  # IRIs have no line feeds
                statements = sorted(map(self._statement, lines))
            path.unlink()
            yield statements

    def _statement(self, line: str) -> str:
        name, _, member = line.rstrip("\n").partition(" ")
        return f"<{self._start}{name}> <{PROV.hadMember}> <{member}> .\n"

    def _flush(self) -> None:
        for digits, lines in self._waiting.items():
            with self._path(digits).open("a", encoding="utf-8") as file:
                file.writelines(lines)
        self._waiting.clear()
        self._lines = 0

    def _path(self, digits: str) -> Path:
        return self._folder.work(f"members-{digits}")
