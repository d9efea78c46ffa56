# SPDX-License-Identifier: Apache-2.0
"""The manifest of a published folder: units with their keys and files, dumps, versions.

A unit (the catalogue, one run, ...) is only made again if its key has changed: the SHA-256 over the
change stamps of its graphs and everything else that its files depend on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from kgbench import files
from kgbench.errors import PublicationRefused
from kgbench.publish.folder import Folder, is_inside

_FILE = "manifest.json"


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

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Return the unit with these fields, as JSON has them; raises like their types."""
        for path in item["files"]:
            if not is_inside(path):  # obsolete files are removed, so a list of others could harm
                raise ValueError(f"it names {path}, which is outside the folder")
        return cls(item["key"], dict(item["files"]), tuple(Dump(**dump) for dump in item["dumps"]))


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
        folder.written.update(unit.files)
        return unit

    def write(self, folder: Folder) -> None:
        """Write the manifest into the state of a folder."""
        files.write(folder.state / _FILE, json.dumps(asdict(self), indent=1) + "\n")


def read(folder: Folder) -> Manifest:
    """Read the manifest in the state of a folder; return an empty one if there is none.

    Units that an unfinished publication may have changed in part are invalid: they have no key.
    Raises :class:`~kgbench.errors.PublicationRefused` if the file is damaged.
    """
    path = folder.state / _FILE
    if not path.is_file():
        return Manifest()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        units = {name: Unit.read(item) for name, item in content["units"].items()}
        versions = [Version.read(item) for item in content["versions"]]
        base: str = content["base"]
        if not isinstance(base, str):
            raise TypeError("it names no base")  # noqa: TRY301 - one message for all problems
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise PublicationRefused(
            f"{path} cannot be read ({error}): name a new folder, or remove this one"
        ) from error
    touched = folder.journalled()
    for name, unit in units.items():
        if touched.intersection(unit.files):
            units[name] = Unit("", unit.files, unit.dumps)
    return Manifest(base, units, versions)
