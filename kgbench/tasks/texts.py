# SPDX-License-Identifier: Apache-2.0
"""Reader of the text files of task classes: prompts, documents, cases; and their missing keys.

Files of one task class are in its folder; files that several classes share are in a folder of
``tasks`` without a declaration. A file may be encrypted (``NAME.enc``)
and may begin with a canary (:mod:`kgbench.tasks.protection`); callers get the plain text without
the canary.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from string import Template

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.model import Json
from kgbench.tasks import catalogue, protection

_ENDINGS = (".txt", ".json", ".rq")
_MOST_BYTES = 1 << 20  # larger files beside a task are graphs, which are in the cases


def text(class_name: str, name: str) -> str:
    """Return the file ``name`` in the folder of a task class, without its final line break."""
    return _read(catalogue.folder(class_name) / name)


def shared(folder: str, name: str) -> str:
    """Return the file ``name`` in a folder that task classes share, without final line break."""
    return _read(resources.path("tasks", folder) / name)


def filled(class_name: str, name: str, **values: str) -> str:
    """Return a prompt template with its ``$names`` replaced by ``values``.

    The template is a :class:`string.Template`.
    """
    return _filled(catalogue.folder(class_name) / name, values)


def shared_filled(folder: str, name: str, **values: str) -> str:
    """Return a shared prompt template with its ``$names`` replaced by ``values``."""
    return _filled(resources.path("tasks", folder) / name, values)


def structure(class_name: str, name: str) -> Json:
    """Return the JSON file called ``name`` in the folder of a task class."""
    return _structure(catalogue.folder(class_name) / name)


def shared_structure(folder: str, name: str) -> Json:
    """Return the JSON file called ``name`` in a folder that task classes share."""
    return _structure(resources.path("tasks", folder) / name)


def read_all(folder: Path) -> None:
    """Read the text files of a folder, for processes that cannot open files later.

    Files of more than 1 MiB are left out.
    """
    for path in sorted(folder.iterdir()):
        name = path.name.removesuffix(protection.SUFFIX)
        if name.endswith(_ENDINGS) and path.stat().st_size <= _MOST_BYTES:
            with suppress(ResourceError):  # reported when the text is used
                _read(path.with_name(name))


def read_all_shared() -> None:
    """Read the texts that task classes share; see :func:`read_all`."""
    for place in resources.folders("tasks"):
        for folder in place.iterdir():
            if folder.is_dir() and not (folder / catalogue.DECLARATION).is_file():
                read_all(folder)


def clear_caches() -> None:
    """Clear the caches, so that files are read again."""
    for cached in (_read, _structure, _encrypted_files):
        cached.cache_clear()


@cache
def _read(path: Path) -> str:
    try:
        return protection.without_canary(_content(path).decode("utf-8-sig")).removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceError(f"the text {path} of a task cannot be read: {error}") from error


def _content(path: Path) -> bytes:
    sealed = path.with_name(path.name + protection.SUFFIX)
    if not sealed.is_file():
        return path.read_bytes()
    if path.is_file():
        raise ResourceError(f"there are both {path} and {sealed}: remove one of them")
    return protection.unseal(
        str(sealed), path.name, sealed.read_text(encoding="utf-8"), protection.available_keys()
    )


def _filled(path: Path, values: dict[str, str]) -> str:
    try:
        return Template(_read(path)).substitute(values)
    except (KeyError, ValueError) as error:
        raise ResourceError(f"the prompt {path} cannot be filled in: {error}") from error


@cache
def _structure(path: Path) -> Json:
    try:
        return protection.without_canary_key(json.loads(_read(path)))
    except ValueError as error:
        raise ResourceError(f"{path} is not valid JSON: {error}") from error


def missing_key(class_name: str) -> str | None:
    """Return a message about a task class's missing key, or ``None`` if all files are readable."""
    known = {protection.fingerprint(key) for key in protection.available_keys()}
    for path, fingerprint in _encrypted_files(catalogue.folder(class_name)):
        if fingerprint not in known:
            return protection.no_key(str(path), fingerprint)
    return None


@cache
def _encrypted_files(folder: Path) -> tuple[tuple[Path, str], ...]:
    """Return the encrypted files in ``folder``, each with the fingerprint of its key."""
    found = []
    for path in sorted(folder.rglob(f"*{protection.SUFFIX}")):
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = [file.readline().rstrip("\n") for _ in range(2)]
        if (fingerprint := protection.wanted_key(lines)) is not None:
            found.append((path, fingerprint))
    return tuple(found)


def insert_fault(text: str, find: str, put: str, fault_name: str) -> str:
    """Replace ``find``, which must occur in ``text`` exactly once, by ``put``.

    Raises :class:`~kgbench.errors.ResourceError`, with ``fault_name`` in the message, if it does
    not.
    """
    if text.count(find) != 1:
        raise ResourceError(
            f"{fault_name} fits {text.count(find)} places of its text instead of one"
        )
    return text.replace(find, put)
