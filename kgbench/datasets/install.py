# SPDX-License-Identifier: Apache-2.0
"""Installation of data sets: downloaded by pinned URLs and checksums, or copied from a folder.

Files are written to a temporary folder and checked there, so that a failed installation does not
touch the previous one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from kgbench.datasets import home
from kgbench.datasets.descriptions import Description
from kgbench.errors import ImportRefused
from kgbench.model import Json
from kgbench.net import web
from kgbench.net.limits import Budget

_SUFFIXES = frozenset({".json", ".jsonl", ".ttl", ".txt", ""})
_LARGEST = 1 << 28  # bytes of one file
_MOST = 1 << 33  # bytes of one data set
_PATIENCE = 3_600.0  # seconds for one data set


@dataclass(slots=True)
class InstallationResult:
    """The outcome of an installation.

    ``differing`` and ``missing`` are files of the declared list, ``further`` are files beyond it.
    ``tasks`` is the number of tasks. ``remarks`` describe accepted irregularities.
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
    budget: Budget | None = None,
) -> InstallationResult:
    """Install a data set from the folder ``copy``, or from its URL if that is ``None``.

    ``tasks`` reads the new folder and returns its tasks; an exception that it raises cancels the
    installation. A downloaded file with another checksum is refused; a file of a copy is installed
    and listed in the result. ``progress`` is called with the number of files so far. ``budget``
    limits the download. Raises :class:`~kgbench.errors.ImportRefused`.
    """

    def fill(scratch: Path, result: InstallationResult) -> None:
        if copy is None:
            _fetch(description, scratch, result, progress, budget)
        else:
            _copy(description, copy, scratch, result, progress)

    source = description.url if copy is None else str(copy.resolve())
    return install_files(description, source, fill, tasks)


def clone_folder(description: Description, copy: str | None) -> Path:
    """Return the folder of the user's clone of a repository.

    Raises :class:`~kgbench.errors.ImportRefused`, with instructions, if ``copy`` is ``None``.
    """
    if copy is None:
        raise ImportRefused(
            f"kgbench knows no address of the files of {description.name}: clone "
            f"{description.page} and run 'kgbench datasets install {description.name} --from PATH'"
        )
    return Path(copy).resolve()


def install_files(
    description: Description,
    source: str,
    fill: Callable[[Path, InstallationResult], None],
    tasks: Callable[[Path], list[dict[str, Json]]],
) -> InstallationResult:
    """Install the files that ``fill`` writes into a new folder, with an installation record.

    ``tasks`` reads the folder and returns the tasks of the data set. An exception that either
    raises cancels the installation; the previous one is kept.
    """
    target = home.folder_of(description.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{description.name}-", dir=target.parent))
    try:
        result = InstallationResult(target)
        fill(scratch, result)
        labelled_tasks = tasks(scratch)
        result.tasks = len(labelled_tasks)
        record = {
            "name": description.name,
            "version": description.version,
            "source": source,
            "installed": datetime.now(UTC).isoformat(timespec="seconds"),
            "differing": result.differing,
            "missing": result.missing,
            "remarks": result.remarks,
            "tasks": labelled_tasks,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        (scratch / home.RECORD).write_text(text + "\n", encoding="utf-8")
        _replace(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return result


def copy_files(
    description: Description,
    root: Path,
    paths: Iterable[str],
    scratch: Path,
    result: InstallationResult,
) -> None:
    """Copy the files at ``paths`` below ``root``, and list differences from the declared files.

    Files that differ from their declared checksum are copied, too.
    """
    copied = set()
    for path in paths:
        content = (root / path).read_bytes()
        _write(scratch / path, content, result, None)
        copied.add(path)
        if path not in description.files:
            result.further.append(path)
        elif hashlib.sha256(content).hexdigest() != description.files[path]:
            result.differing.append(path)
    result.missing += [path for path in description.files if path not in copied]


def _fetch(
    description: Description,
    target: Path,
    result: InstallationResult,
    progress: Callable[[int], None] | None,
    budget: Budget | None,
) -> None:
    budget = budget or Budget(_MOST, _PATIENCE)
    for path, expected in description.files.items():
        content = download(description.url + quote(path), budget)
        if hashlib.sha256(content).hexdigest() != expected:
            raise ImportRefused(
                f"{description.url}{path} is not the declared file (another SHA-256): nothing was "
                f"installed; 'install --from DIR' takes a copy that you trust"
            )
        _write(target / path, content, result, progress)


def download(url: str, budget: Budget | None = None) -> bytes:
    """Download a file from an https URL, within ``budget``.

    Raises :class:`~kgbench.errors.ImportRefused` if it cannot be fetched or is too large.
    """
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise ImportRefused(f"{url} is not an https URL")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "file")
        try:
            web.download(url, target, budget or Budget(_MOST, _PATIENCE), _LARGEST)
        except FileNotFoundError:
            reason = f"{url} cannot be fetched: not found (404)"
        except ImportRefused as error:
            reason = str(error)
        else:
            return target.read_bytes()
    raise ImportRefused(f"{reason}; 'install --from DIR' takes a copy that you have")


def _copy(
    description: Description,
    source: Path,
    target: Path,
    result: InstallationResult,
    progress: Callable[[int], None] | None,
) -> None:
    tops = {path.split("/", 1)[0] for path in description.files}
    if not any((source / top).is_dir() for top in tops):
        raise ImportRefused(f"{source} holds none of {', '.join(sorted(tops))}: nothing installed")
    for path, expected in description.files.items():
        if not (source / path).is_file():
            result.missing.append(path)
            continue
        content = (source / path).read_bytes()
        if hashlib.sha256(content).hexdigest() != expected:
            result.differing.append(path)
        _write(target / path, content, result, progress)
    for top in sorted(tops):
        for file in sorted((source / top).rglob("*")):
            path = file.relative_to(source).as_posix()
            if path not in description.files and file.is_file() and file.suffix in _SUFFIXES:
                result.further.append(path)
                _write(target / path, file.read_bytes(), result, progress)


def _write(
    path: Path, content: bytes, result: InstallationResult, progress: Callable[[int], None] | None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    result.files += 1
    if progress is not None:
        progress(result.files)


def _replace(new: Path, target: Path) -> None:
    """Replace the previous installation by the folder ``new``."""
    old = target.with_name(f".{target.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.chmod(0o755)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)
