# SPDX-License-Identifier: Apache-2.0
"""Which files are data of a declared task class, and so may be encrypted.

Data lie in a *task folder*, one with a ``task.ttl`` that declares a task class, or beneath it; in
kgbench's own ``tasks`` also in the folders that several classes share. Keys, result stores,
configurations, code and what describes a package are never data, wherever they lie.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.tasks.catalogue import DECLARATION
from kgbench.tasks.sealing import SUFFIX
from kgbench.vocab import KGB, RDF

#: Kinds of files that task classes read. In a folder only these are taken.
DATA: Final = frozenset(
    (
        *(".csv", ".tsv", ".txt", ".md", ".html", ".xml", ".json", ".jsonl", ".jsonld"),
        *(".ttl", ".nt", ".n3", ".rdf", ".owl", ".rq", ".sparql"),
    )
)
_CODE: Final = frozenset((".py", ".pyc", ".so", ".sh", ".ipynb"))
_CONFIGURATION: Final = frozenset(
    (".cfg", ".env", ".ini", ".lock", ".toml", ".yaml", ".yamlld", ".yml")
)
_KEYS: Final = frozenset((".key", ".pem", ".gpg", ".asc"))
_ABOUT_PACKAGES: Final = (
    *("changelog", "citation", "contributing", "licence", "license"),
    *("notice", "package.json", "readme", "requirements"),
)
_BUILT: Final = frozenset(("build", "dist", "node_modules"))


def data_files(paths: Iterable[Path], secrets: Iterable[str] = ()) -> list[Path]:
    """The data files that are named or lie in named folders, each once, in order.

    A file that holds one of ``secrets`` is a key file. Raises
    :class:`~kgbench.errors.ResourceError`, saying why, for a named file that is no data of a task
    class, and where there is nothing to encrypt.
    """
    guarded = [secret.encode("utf-8") for secret in secrets]
    chosen: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found = sorted(file for file in _beneath(path) if _is_taken(file, guarded))
            chosen |= dict.fromkeys(found)
        else:
            if why := _why_never(path, guarded) or _why_outside(path):
                raise ResourceError(f"{path} is not encrypted: {why}")
            chosen[path] = None
    if not chosen:
        raise ResourceError(
            f"nothing to encrypt: only data in folders with a {DECLARATION} that declares a task "
            f"class are encrypted, and there are none"
        )
    return list(chosen)


def declarations(folder: Path) -> list[Path]:
    """The declarations in ``folder`` and beneath it, broken ones too, by their place."""
    found = []
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not is_passed_by(Path(place) / name))
        if DECLARATION in files:
            found.append(Path(place) / DECLARATION)
    return sorted(found)


def belonging(folder: Path) -> list[Path]:
    """The files that make up the task class in ``folder``: its declaration and its data.

    Data may be encrypted. Raises :class:`~kgbench.errors.ResourceError` for a broken declaration.
    """
    return [
        file
        for file in _beneath(folder)
        if file.name == DECLARATION or file.suffix == SUFFIX or _is_taken(file, [])
    ]


def _beneath(folder: Path) -> Iterator[Path]:
    """The files of the task folders in ``folder``, and of ``folder`` where it lies in one."""
    for place, names, files in os.walk(folder):
        here = Path(place)
        names[:] = sorted(name for name in names if not is_passed_by(here / name))
        if _task_folder(here) is not None:
            yield from (here / name for name in sorted(files))


def _is_taken(file: Path, guarded: list[bytes]) -> bool:
    return (
        file.suffix.lower() in DATA
        and not file.name.lower().startswith(_ABOUT_PACKAGES)
        and _why_never(file, guarded) is None
    )


def is_passed_by(folder: Path) -> bool:
    """Whether a folder is hidden, elsewhere, a result store, an environment, or built."""
    return (
        folder.name.startswith((".", "__"))
        or folder.name in _BUILT
        or folder.name.endswith((".egg-info", ".dist-info"))
        or folder.is_symlink()
        or (folder / "pyvenv.cfg").exists()
        or _is_store(folder)
    )


def _is_store(folder: Path) -> bool:
    """Whether a folder is a result store, or one of its databases."""
    whole = (folder / "lock").exists() and (folder / "snapshots").is_dir()
    return whole or (folder / "CURRENT").is_file() or any(folder.glob("MANIFEST-*"))


def _why_never(path: Path, guarded: list[bytes]) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why a file is no data of a task class wherever it lies; ``None`` where it may be."""
    suffix = path.suffix.lower()
    if path.is_symlink():
        return "it is a link to another file"
    if path.name == DECLARATION:
        return "kgbench must read it without a key"
    if suffix == SUFFIX:
        return "it is already encrypted"
    if path.name.startswith((".", "__")) or suffix in _CODE:
        return "it is code, or hidden"
    if suffix in _CONFIGURATION:
        return "it is a configuration"
    if suffix in _KEYS:
        return "it is a key"
    if any(_is_store(folder) for folder in path.absolute().parents):
        return "it belongs to a result store"
    content = _read(path)
    if any(secret in content for secret in guarded):
        return "it holds the key"
    if _configures(suffix, content):
        return "it is a configuration"
    return None


def _why_outside(path: Path) -> str | None:
    if _task_folder(path.absolute().parent) is None:
        return f"it lies in no folder with a {DECLARATION} that declares a task class"
    return None


def _task_folder(folder: Path) -> Path | None:
    """The task folder that ``folder`` is or lies in; ``None`` where there is none."""
    place = folder.resolve()
    own = resources.folder("tasks").resolve()
    if own in place.parents:  # several classes share what lies in a folder without a declaration
        return place
    for each in (place, *place.parents):
        if (each / DECLARATION).is_file():
            return each if _declares(each / DECLARATION) else None
    return None


def _declares(path: Path) -> bool:
    """Whether a file is Turtle with a task class, complete or not."""
    wanted = ox.NamedNode(KGB.TaskClass)
    try:
        return any(
            quad.predicate.value == RDF.type and quad.object == wanted
            for quad in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)
        )
    except SyntaxError as error:
        raise ResourceError(f"{path} is not Turtle: {error}") from error


def _configures(suffix: str, content: bytes) -> bool:
    """Whether a JSON or Turtle document is a configuration of runs."""
    if suffix == ".ttl":
        return b"kgb:Configuration" in content or f"<{KGB.Configuration}>".encode() in content
    if suffix not in {".json", ".jsonld"}:
        return False
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "models" in document


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResourceError(f"{path} cannot be read: {error}") from error
