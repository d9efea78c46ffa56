# SPDX-License-Identifier: Apache-2.0
"""Installing a data set: fetched by pinned URLs and checksums, or taken from a copy.

Everything is put into a folder of its own first and checked there, so that an installation that
fails leaves what was installed before.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from kgbench.datasets import home
from kgbench.datasets.descriptions import Description
from kgbench.errors import ImportRefused
from kgbench.model import Json
from kgbench.net import web
from kgbench.net.limits import Limits, Misbehaviour, TooMuch

_SUFFIXES = frozenset({".json", ".jsonl", ".ttl", ".txt", ""})
_LARGEST = 1 << 28  # bytes of one file
_TIMEOUT = 60.0  # seconds without a byte
_PATIENCE = 600.0  # seconds for a file, and one more for each _SLOWEST bytes of it
_SLOWEST = 10_000


@dataclass(slots=True)
class Installed:
    """What was installed where; ``differing`` and ``missing`` are files of the declared list.

    ``remarks`` say in words what was put up with.
    """

    place: Path
    files: int = 0
    differing: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    further: list[str] = field(default_factory=list)
    tasks: int = 0
    remarks: list[str] = field(default_factory=list)


def install(
    description: Description,
    copy: Path | None,
    tasks: Callable[[Path], list[dict[str, Json]]],
    progress: Callable[[int], None] | None = None,
) -> Installed:
    """Install a data set from the folder ``copy``, or, where that is ``None``, from its URL.

    ``tasks`` reads the new folder and gives the tasks it brings; what it raises ends the
    installation. A fetched file with another checksum is refused; a file of a copy is taken as it
    is and named in the result. Raises :class:`~kgbench.errors.ImportRefused`.
    """

    def fill(scratch: Path, done: Installed) -> None:
        if copy is None:
            _fetch(description, scratch, done, progress)
        else:
            _copy(description, copy, scratch, done, progress)

    source = description.url if copy is None else str(copy.resolve())
    return put(description, source, fill, tasks)


def clone(description: Description, copy: Path | None) -> Path:
    """The folder of the user's clone of a repository from which a data set is installed.

    Raises :class:`~kgbench.errors.ImportRefused`, with what to do, where none is named.
    """
    if copy is None:
        raise ImportRefused(
            f"kgbench knows no address of the files of {description.name}: clone "
            f"{description.page} and run 'kgbench datasets install {description.name} --from PATH'"
        )
    return copy.resolve()


def put(
    description: Description,
    source: str,
    fill: Callable[[Path, Installed], None],
    tasks: Callable[[Path], list[dict[str, Json]]],
) -> Installed:
    """Install what ``fill`` writes into a new folder, with a note of where it comes from.

    ``tasks`` reads the folder and gives the tasks that the data set brings. Whatever either raises
    ends the installation and leaves what was installed before.
    """
    place = home.place(description.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{description.name}-", dir=place.parent))
    try:
        done = Installed(place)
        fill(scratch, done)
        brought = tasks(scratch)
        done.tasks = len(brought)
        note = {
            "name": description.name,
            "version": description.version,
            "source": source,
            "installed": datetime.now(UTC).isoformat(timespec="seconds"),
            "differing": done.differing,
            "missing": done.missing,
            "remarks": done.remarks,
            "tasks": brought,
        }
        text = json.dumps(note, indent=1, ensure_ascii=False)
        (scratch / home.RECORD).write_text(text + "\n", encoding="utf-8")
        _replace(scratch, place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def take(
    description: Description, root: Path, paths: Iterable[str], scratch: Path, done: Installed
) -> None:
    """Copy the files at ``paths`` below ``root``, and note how they differ from the declared list.

    Files of another checksum than the declared one are taken, too.
    """
    taken = set()
    for path in paths:
        content = (root / path).read_bytes()
        _write(scratch / path, content, done, None)
        taken.add(path)
        if path not in description.files:
            done.further.append(path)
        elif hashlib.sha256(content).hexdigest() != description.files[path]:
            done.differing.append(path)
    done.missing += [path for path in description.files if path not in taken]


def _fetch(
    description: Description,
    target: Path,
    done: Installed,
    progress: Callable[[int], None] | None,
) -> None:
    for path, expected in description.files.items():
        content = fetched(description.url + quote(path))
        if hashlib.sha256(content).hexdigest() != expected:
            raise ImportRefused(
                f"{description.url}{path} is not the declared file (another SHA-256): nothing was "
                f"installed; 'install --from DIR' takes a copy that you trust"
            )
        _write(target / path, content, done, progress)


def fetched(url: str) -> bytes:
    """The file at an https address.

    Raises :class:`~kgbench.errors.ImportRefused` where it cannot be had, or is too large.
    """
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise ImportRefused(f"{url} is no https address")
    limits = Limits(_LARGEST, _LARGEST, _PATIENCE, _SLOWEST)
    try:
        with web.request(url, limits, idle=_TIMEOUT, follow=True) as answer:
            if answer.status == HTTPStatus.OK:
                return b"".join(answer.pieces())
            said = f"HTTP {answer.status} {answer.reason}"
    except TooMuch:
        raise ImportRefused(f"{url} is larger than {_LARGEST} bytes") from None
    except (Misbehaviour, OSError) as error:
        said = " ".join(str(error).split())
    raise ImportRefused(
        f"{url} cannot be fetched: {said}; 'install --from DIR' takes a copy that you have"
    )


def _copy(
    description: Description,
    source: Path,
    target: Path,
    done: Installed,
    progress: Callable[[int], None] | None,
) -> None:
    tops = {path.split("/", 1)[0] for path in description.files}
    if not any((source / top).is_dir() for top in tops):
        raise ImportRefused(f"{source} holds none of {', '.join(sorted(tops))}: nothing installed")
    for path, expected in description.files.items():
        if not (source / path).is_file():
            done.missing.append(path)
            continue
        content = (source / path).read_bytes()
        if hashlib.sha256(content).hexdigest() != expected:
            done.differing.append(path)
        _write(target / path, content, done, progress)
    for top in sorted(tops):
        for found in sorted((source / top).rglob("*")):
            path = found.relative_to(source).as_posix()
            if path not in description.files and found.is_file() and found.suffix in _SUFFIXES:
                done.further.append(path)
                _write(target / path, found.read_bytes(), done, progress)


def _write(
    path: Path, content: bytes, done: Installed, progress: Callable[[int], None] | None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    done.files += 1
    if progress is not None:
        progress(done.files)


def _replace(new: Path, place: Path) -> None:
    """Put ``new`` in the place of what was installed before."""
    old = place.with_name(f".{place.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.chmod(0o755)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)
