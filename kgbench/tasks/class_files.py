# SPDX-License-Identifier: Apache-2.0
"""The data files of declared task classes, which may be encrypted.

Data files are in a *task folder* (a folder with a ``task.ttl`` that declares a task class) or below
it, and in kgbench's own ``tasks`` also in folders that several classes share. Keys, result stores,
configurations, code and descriptions of packages are never data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from kgbench import resources
from kgbench.characters import without_bom
from kgbench.errors import ResourceError
from kgbench.tasks.catalogue import DECLARATION
from kgbench.tasks.protection import SUFFIX
from kgbench.vocab import KGB, RDF

#: Suffixes of files that task classes read; other files in folders are ignored.
DATA: Final = frozenset(
    (
        ".csv",
        ".tsv",
        ".txt",
        ".md",
        ".html",
        ".xml",
        ".json",
        ".jsonl",
        ".jsonld",
        ".ttl",
        ".nt",
        ".n3",
        ".rdf",
        ".owl",
        ".rq",
        ".sparql",
    )
)
_CODE: Final = frozenset((".py", ".pyc", ".so", ".sh", ".ipynb"))
_CONFIGURATION: Final = frozenset(
    (".cfg", ".env", ".ini", ".lock", ".toml", ".yaml", ".yamlld", ".yml")
)
_KEYS: Final = frozenset((".key", ".pem", ".gpg", ".asc"))
_ABOUT_PACKAGES: Final = (
    "changelog",
    "citation",
    "contributing",
    "licence",
    "license",
    "notice",
    "package.json",
    "readme",
    "requirements",
)
_BUILT: Final = frozenset(("build", "dist", "node_modules"))


def data_files(paths: Iterable[Path], secrets: Iterable[str] = ()) -> list[Path]:
    """Return the data files among ``paths`` and in folders among them, each once, in order.

    A file that contains one of ``secrets`` is a key file. Raises
    :class:`~kgbench.errors.ResourceError`, with the reason, for a path that is not a data file of a
    task class, and if there is nothing to encrypt.
    """
    encoded_secrets = [secret.encode("utf-8") for secret in secrets]
    chosen: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            files = sorted(
                file for file in _task_folder_files(path) if _is_data(file, encoded_secrets)
            )
            chosen |= dict.fromkeys(files)
        else:
            if reason := _why_never(path, encoded_secrets) or _why_outside(path):
                raise ResourceError(f"{path} is not encrypted: {reason}")
            chosen[path] = None
    if not chosen:
        raise ResourceError(
            f"nothing to encrypt: only data in folders with a {DECLARATION} that declares a task "
            f"class are encrypted, and there are none"
        )
    return list(chosen)


def declarations(folder: Path) -> list[Path]:
    """Return the declarations in ``folder`` and below it, also invalid ones, sorted by path."""
    paths = []
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not is_skipped_folder(Path(parent) / name))
        if DECLARATION in files:
            paths.append(Path(parent) / DECLARATION)
    return sorted(paths)


def files_of_class(folder: Path) -> list[Path]:
    """Return the declaration and the data, encrypted or not, of the task class in ``folder``.

    Raises :class:`~kgbench.errors.ResourceError` for an invalid declaration.
    """
    return [
        file
        for file in _task_folder_files(folder)
        if file.name == DECLARATION or file.suffix == SUFFIX or _is_data(file, [])
    ]


def _task_folder_files(folder: Path) -> Iterator[Path]:
    """Yield the files in ``folder`` and below it that are in task folders."""
    for parent, names, files in os.walk(folder):
        path = Path(parent)
        names[:] = sorted(name for name in names if not is_skipped_folder(path / name))
        if _task_folder(path) is not None:
            yield from (path / name for name in sorted(files))


def _is_data(file: Path, guarded: list[bytes]) -> bool:
    return (
        file.suffix.lower() in DATA
        and not file.name.lower().startswith(_ABOUT_PACKAGES)
        and _why_never(file, guarded) is None
    )


def is_skipped_folder(folder: Path) -> bool:
    """Return whether a folder is skipped.

    It is skipped if it is hidden, a link, a store, a virtual environment, or built.
    """
    return (
        folder.name.startswith((".", "__"))
        or folder.name in _BUILT
        or folder.name.endswith((".egg-info", ".dist-info"))
        or folder.is_symlink()
        or (folder / "pyvenv.cfg").exists()
        or _is_store(folder)
    )


def _is_store(folder: Path) -> bool:
    """Return whether a folder is a result store, or one of its databases."""
    is_whole_store = (folder / "lock").exists() and (folder / "snapshots").is_dir()
    return is_whole_store or (folder / "CURRENT").is_file() or any(folder.glob("MANIFEST-*"))


def _why_never(path: Path, guarded: list[bytes]) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Return the reason why a file is never data of a task class; ``None`` if it may be data."""
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
    """Return the task folder that is or contains ``folder``; ``None`` if there is none."""
    resolved = folder.resolve()
    own = {place.resolve() for place in resources.folders("tasks")}
    if own & {*resolved.parents}:  # folders without a declaration are shared by several classes
        return resolved
    for parent in (resolved, *resolved.parents):
        if (parent / DECLARATION).is_file():
            return parent if _declares(parent / DECLARATION) else None
    return None


def _declares(path: Path) -> bool:
    """Return whether a Turtle file declares a task class, complete or not."""
    task_class = ox.NamedNode(KGB.TaskClass)
    try:
        return any(
            quad.predicate.value == RDF.type and quad.object == task_class
            for quad in ox.parse(without_bom(path.read_bytes()), ox.RdfFormat.TURTLE)
        )
    except SyntaxError as error:
        raise ResourceError(f"{path} is not Turtle: {error}") from error


def _configures(suffix: str, content: bytes) -> bool:
    """Return whether a JSON or Turtle document is a configuration of runs."""
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
