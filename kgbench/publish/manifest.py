# SPDX-License-Identifier: Apache-2.0
"""What the last publication wrote: its units with their keys and files, its dumps, its versions.

A unit (the catalogue, one run, ...) is made again only where its key has changed: the SHA-256 over
the change stamps of its graphs and everything else that its files depend on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kgbench.errors import PublicationRefused
from kgbench.publish.folder import Folder


@dataclass(frozen=True, slots=True)
class Dump:
    """A dump: its path, size and SHA-256 as downloaded, and the SHA-256 of what it holds."""

    path: str
    bytes: int
    sha256: str
    content: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What was made from one part of the store.

    ``files`` are their paths with their SHA-256, ``facts`` are numbers that other
    pages show (dialogues, triples, counts by class).
    """

    key: str
    files: Mapping[str, str]
    dumps: tuple[Dump, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the data set: its number, date (ISO 8601), and what it held."""

    number: int
    date: str
    digest: str
    runs: int
    dialogues: int
    triples: int
    dumps: tuple[Dump, ...]


@dataclass(slots=True)
class Manifest:
    """The state of a published folder."""

    base: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)

    def files(self) -> set[str]:
        """All files that were written."""
        return {path for unit in self.units.values() for path in unit.files}

    def holds(self, folder: Folder, name: str, key: str) -> bool:
        """Whether the unit ``name`` stands in the folder as it would be made under ``key``."""
        unit = self.units.get(name)
        return (
            unit is not None
            and unit.key == key
            and all(unit.files.values())
            and all((folder.path / path).is_file() for path in unit.files)
        )

    def forget_interrupted(self, folder: Folder) -> None:
        """Have made again what a publication that did not end may have half changed."""
        touched = folder.journalled()
        for name, unit in list(self.units.items()):
            if touched.intersection(unit.files):
                self.units[name] = Unit("", unit.files, unit.dumps, unit.facts)


def read(folder: Path) -> Manifest:
    """The manifest in the state folder ``folder``; an empty one where there is none."""
    path = folder / "manifest.json"
    if not path.is_file():
        return Manifest()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        units = {
            name: Unit(
                one["key"],
                dict(_files(folder, name)),
                tuple(Dump(**dump) for dump in one["dumps"]),
                one["facts"],
            )
            for name, one in found["units"].items()
        }
        versions = [
            Version(**{**one, "dumps": tuple(Dump(**dump) for dump in one["dumps"])})
            for one in found["versions"]
        ]
        base: str = found["base"]
        if not isinstance(base, str):
            raise TypeError("it names no base")  # noqa: TRY301 - one message for all that is wrong
        return Manifest(base, units, versions)
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise PublicationRefused(
            f"{path} cannot be read ({error}): name a new folder, or remove this one"
        ) from error


def write(folder: Folder, manifest: Manifest) -> None:
    """Record what was published; files of units that did not change are not written again."""
    for name, unit in manifest.units.items():
        _replace(folder.state / f"files-{name}.txt", _lines(unit.files))
    text = json.dumps(
        {
            "base": manifest.base,
            "units": {
                name: {"key": u.key, "dumps": [asdict(d) for d in u.dumps], "facts": u.facts}
                for name, u in manifest.units.items()
            },
            "versions": [asdict(one) for one in manifest.versions],
        },
        indent=1,
    )
    _replace(folder.state / "manifest.json", text + "\n")
    wanted = {f"files-{name}.txt" for name in manifest.units}
    for path in folder.state.glob("files-*.txt"):
        if path.name not in wanted:
            path.unlink()


def _lines(files: Mapping[str, str]) -> str:
    return "".join(f"{sha256}  {path}\n" for path, sha256 in files.items())


def _files(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    for line in (folder / f"files-{name}.txt").read_text(encoding="utf-8").splitlines():
        sha256, found, path = line.partition("  ")
        # Early publications noted paths alone; no such file stands as it is.
        yield (path, sha256) if found else (line, "")


def _replace(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
