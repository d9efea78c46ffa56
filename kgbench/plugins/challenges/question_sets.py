# SPDX-License-Identifier: Apache-2.0
"""Installation of the TEXT2SPARQL data sets: a question file and, if it is small, its graph.

A file that differs from its declared checksum is refused, even from a copy, unless the caller
accepts unverified files; the installation record lists them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from kgbench.characters import without_bom
from kgbench.datasets import home
from kgbench.datasets.descriptions import Description
from kgbench.datasets.install import InstallationResult, download, install_files
from kgbench.datasets.sources import Folder, Source, open_source
from kgbench.errors import ImportRefused
from kgbench.net.limits import Budget
from kgbench.plugins.challenges import question_files

_QUESTIONS: Final = (".yml", ".yaml")


def install(
    description: Description,
    copy: str | None,
    budget: Budget | None = None,
    *,
    unverified: bool = False,
) -> InstallationResult:
    """Install the questions and the graph of a data set from ``copy``, or from its URL.

    ``copy`` is a folder, an archive, or the URL of an archive. ``budget`` limits the downloads.
    ``unverified`` accepts files that differ from their declared checksum. Raises
    :class:`~kgbench.errors.ImportRefused`, and installs nothing, for any other problem.
    """
    if copy is None and len(description.files) < _file_count(description):
        raise ImportRefused(
            f"kgbench knows no address of all files of {description.name}: get them from "
            f"{description.page} and run 'kgbench datasets install {description.name} --from PATH'"
        )
    source = None if copy is None else open_source(copy, budget)

    def fill(scratch: Path, result: InstallationResult) -> None:
        for path, expected in description.files.items():
            content = _content(description, source, path, expected, budget)
            _check(description, path, content, expected, result, unverified=unverified)
            _write(scratch, path, content, result)
        if source is not None and not (scratch / question_files.QUESTIONS).is_file():
            _write(
                scratch, question_files.QUESTIONS, _questions(description, source, result), result
            )
        questions = question_files.read(scratch / question_files.QUESTIONS)
        if questions.prefix != description.name:
            raise ImportRefused(
                f"the questions are those of {questions.prefix}, not of {description.name}"
            )
        result.remarks += questions.remarks
        if not (scratch / home.GRAPH).is_file():
            result.remarks.append(
                f"{description.name} brings no task: its graph is too large to be installed, so "
                "queries are not executed; an import of the challenge has its published scores"
            )

    location = description.url if copy is None else copy
    source_name = str(Path(location).resolve()) if isinstance(source, Folder) else location
    return install_files(description, source_name, fill, question_files.labelled_tasks)


def _file_count(description: Description) -> int:
    """Return the number of files of a data set: the questions, and the graph if declared."""
    return 1 + any(path.endswith(".ttl") for path in description.files)


def _content(
    description: Description,
    source: Source | None,
    path: str,
    expected: str,
    budget: Budget | None,
) -> bytes:
    if source is None:
        return download(description.url + path, budget)
    paths = source.find(path)
    if not paths:
        raise ImportRefused(f"{source.name} has no file {path}, which {description.name} needs")
    contents = {candidate: source.read(candidate) for candidate in paths}
    fitting = [candidate for candidate in contents.values() if _digest(candidate) == expected]
    if not fitting and len(set(contents.values())) > 1:
        raise ImportRefused(
            f"{source.name} has several files called {path} ({', '.join(paths[:3])}), and none has "
            "the declared checksum: name the folder with the right one"
        )
    return (fitting or list(contents.values()))[0]


def _check(
    description: Description,
    path: str,
    content: bytes,
    expected: str,
    result: InstallationResult,
    *,
    unverified: bool,
) -> None:
    if _digest(content) == expected:
        return
    if not unverified:
        raise ImportRefused(
            f"{path} is not the declared file of {description.name} (another SHA-256), so nothing "
            f"was installed; --unverified takes a copy that you trust"
        )
    result.differing.append(path)


def _questions(description: Description, source: Source, result: InstallationResult) -> bytes:
    """Find the question file of a data set without a declared checksum.

    Identical copies count once. Different candidates are refused.
    """
    fitting: dict[bytes, str] = {}
    refused = ""
    for path in source.paths():
        if path.endswith(_QUESTIONS) and "question" in path.lower():
            content = source.read(path)
            try:
                questions = question_files.parse(content.decode("utf-8-sig"), path)
            except (ImportRefused, UnicodeDecodeError) as error:
                refused = f" ({path} cannot be read: {error})"
                continue
            if questions.prefix == description.name:
                fitting.setdefault(content, path)
    if not fitting:
        raise ImportRefused(
            f"{source.name} has no question file with 'prefix: {description.name}'{refused}"
        )
    if len(fitting) > 1:
        raise ImportRefused(
            f"{source.name} has several question files of {description.name} "
            f"({', '.join(fitting.values())}): name the folder with the right one"
        )
    ((content, path),) = fitting.items()
    result.remarks.append(
        f"kgbench knows no checksum of {path}; it has the SHA-256 {_digest(content)}"
    )
    return content


def _write(folder: Path, path: str, content: bytes, result: InstallationResult) -> None:
    result.files += 1
    if path.endswith(_QUESTIONS):
        (folder / question_files.QUESTIONS).write_bytes(content)
        return
    try:
        triples = (quad.triple for quad in ox.parse(without_bom(content), ox.RdfFormat.TURTLE))
        written = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise ImportRefused(f"the graph {path} cannot be read: {error}") from error
    if not written:
        raise ImportRefused(f"the graph {path} has no triples")
    (folder / home.GRAPH).write_bytes(written)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
