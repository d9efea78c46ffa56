# SPDX-License-Identifier: Apache-2.0
"""The manifest of a published folder: units with their keys and files, dumps, versions.

A unit (the catalogue, one run, ...) is only made again if its key has changed: the SHA-256 over the
change stamps of its graphs and everything else that its files depend on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from kgbench.errors import PublicationRefused
from kgbench.publish.folder import Folder, is_inside


@dataclass(frozen=True, slots=True)
class Dump:
    """A file of data: its path, size, SHA-256, that of its content, and its statements."""

    path: str
    bytes: int
    sha256: str
    content: str
    triples: int


@dataclass(frozen=True, slots=True)
class Unit:
    """The output of one part of the store; ``files`` has the SHA-256 of files by path."""

    key: str
    files: Mapping[str, str]
    dumps: tuple[Dump, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the data set: its number, date (ISO 8601), and counts of its content."""

    number: int
    date: str
    digest: str
    runs: int
    dialogues: int
    triples: int
    dumps: tuple[Dump, ...]

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Return the version with these fields, as JSON has them; raises like their types."""
        return cls(**{**item, "dumps": tuple(Dump(**dump) for dump in item["dumps"])})


@dataclass(slots=True)
class Manifest:
    """The state of a published folder."""

    base: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)

    def files(self) -> set[str]:
        """Return all files that were written."""
        return {path for unit in self.units.values() for path in unit.files}

    def keep(self, folder: Folder, name: str, key: str) -> Unit | None:
        """Keep the files of the unit ``name`` and return it, if it is unchanged.

        It is unchanged if it has this ``key`` and all its files have their checksums; otherwise
        the result is ``None``. Files are read for this, because the checksums are published and
        signed: a file that was damaged or changed by others is made again.
        """
        unit = self.units.get(name)
        if (
            unit is None
            or unit.key != key
            or not all(folder.has(path, sha256) for path, sha256 in unit.files.items())
        ):
            return None
        folder.keep(unit.files)
        return unit

    def forget_interrupted(self, folder: Folder) -> None:
        """Invalidate the units that an unfinished publication may have changed in part."""
        touched = folder.journalled()
        for name, unit in list(self.units.items()):
            if touched.intersection(unit.files):
                self.units[name] = Unit("", unit.files, unit.dumps)


def read(folder: Path) -> Manifest:
    """Read the manifest in the state folder; return an empty one if there is none.

    Raises :class:`~kgbench.errors.PublicationRefused` if the file is damaged.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        return Manifest()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        units = {
            name: Unit(
                item["key"],
                dict(_files(folder, name)),
                tuple(Dump(**dump) for dump in item["dumps"]),
            )
            for name, item in content["units"].items()
        }
        versions = [Version.read(item) for item in content["versions"]]
        base: str = content["base"]
        if not isinstance(base, str):
            raise TypeError("it names no base")  # noqa: TRY301 - one message for all problems
        return Manifest(base, units, versions)
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise PublicationRefused(
            f"{path} cannot be read ({error}): name a new folder, or remove this one"
        ) from error


def write(folder: Folder, manifest: Manifest) -> None:
    """Write the manifest; lists of files are only written for units that have changed."""
    for name, unit in manifest.units.items():
        _replace(folder.state / f"files-{name}.txt", _lines(unit.files))
    text = json.dumps(
        {
            "base": manifest.base,
            "units": {
                name: {"key": u.key, "dumps": [asdict(d) for d in u.dumps]}
                for name, u in manifest.units.items()
            },
            "versions": [asdict(version) for version in manifest.versions],
        },
        indent=1,
    )
    _replace(folder.state / "manifest.json", text + "\n")
    current = {f"files-{name}.txt" for name in manifest.units}
    for path in folder.state.glob("files-*.txt"):
        if path.name not in current:
            path.unlink()


def _lines(files: Mapping[str, str]) -> str:
    return "".join(f"{sha256}  {path}\n" for path, sha256 in files.items())


def _files(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    for line in (folder / f"files-{name}.txt").read_text(encoding="utf-8").splitlines():
        sha256, _, path = line.partition("  ")
        if not is_inside(path):  # obsolete files are removed, so a list from others could harm
            raise ValueError(f"files-{name}.txt names {path}, which is outside the folder")
        yield path, sha256


def _replace(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
