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

from kgbench.api import ImportRefused, Json
from kgbench.characters import without_bom
from kgbench.datasets import home, json_files
from kgbench.datasets.descriptions import Description
from kgbench.datasets.install import InstallationResult, download, install_files
from kgbench.net.limits import Budget
from kgbench.plugins.challenges import question_files, questions

_QUESTIONS: Final = (".yml", ".yaml")


def install(
    description: Description,
    copy: str | None,
    budget: Budget | None,
    unverified: bool,
) -> InstallationResult:
    """Install the questions and the graph of a data set from ``copy``, or from its URL.

    ``copy`` is a folder. ``budget`` limits the downloads.
    ``unverified`` accepts files that differ from their declared checksum. Raises
    :class:`~kgbench.errors.ImportRefused`, and installs nothing, for any other problem.
    """
    has_graph = any(path.endswith(".ttl") for path in description.files)
    if copy is None and len(description.files) < 1 + has_graph:
        raise ImportRefused(
            f"kgbench knows no address of all files of {description.name}: get them from "
            f"{description.page} and run 'kgbench datasets install {description.name} --from PATH'"
        )
    source = None if copy is None else Path(copy).resolve()
    if source is not None and not source.is_dir():
        raise ImportRefused(f"{copy} is not a folder: unpack an archive first")

    def fill(scratch: Path, result: InstallationResult) -> None:
        for path, expected in description.files.items():
            content = _content(description, source, path, expected, budget)
            if _digest(content) != expected:
                if not unverified:
                    raise ImportRefused(
                        f"{path} is not the declared file of {description.name} (another SHA-256), "
                        "so nothing was installed; --unverified takes a copy that you trust"
                    )
                result.differing.append(path)
            _write(scratch, path, content, result)
        if source is not None and not (scratch / question_files.QUESTIONS).is_file():
            _write(
                scratch, question_files.QUESTIONS, _questions(description, source, result), result
            )
        read = question_files.read(scratch / question_files.QUESTIONS)
        if read.prefix != description.name:
            raise ImportRefused(
                f"the questions are those of {read.prefix}, not of {description.name}"
            )
        result.remarks += read.remarks
        if not (scratch / home.GRAPH).is_file():
            result.remarks.append(
                f"{description.name} brings no task: its graph is too large to be installed, so "
                "queries are not executed; an import of the challenge has its published scores"
            )

    return install_files(description, str(source or description.url), fill, _labelled_tasks)


def _labelled_tasks(root: Path) -> list[dict[str, Json]]:
    if not (root / home.GRAPH).is_file():
        return []
    return questions.labelled_tasks(question_files.read(root / question_files.QUESTIONS))


def _content(
    description: Description,
    source: Path | None,
    path: str,
    expected: str,
    budget: Budget | None,
) -> bytes:
    if source is None:
        return download(description.url + path, budget)
    paths = _find(source, path)
    if not paths:
        raise ImportRefused(f"{source} has no file {path}, which {description.name} needs")
    contents = {candidate: _read(candidate) for candidate in paths}
    fitting = [candidate for candidate in contents.values() if _digest(candidate) == expected]
    if not fitting and len(set(contents.values())) > 1:
        raise ImportRefused(
            f"{source} has several files called {path} ({', '.join(map(str, paths[:3]))}), and "
            "none has the declared checksum: name the folder with the right one"
        )
    return (fitting or list(contents.values()))[0]


def _questions(description: Description, source: Path, result: InstallationResult) -> bytes:
    """Find the question file of a data set without a declared checksum.

    Identical copies count once. Different candidates are refused.
    """
    fitting: dict[bytes, str] = {}
    refused = ""
    for path in _files(source):
        name = path.relative_to(source).as_posix()
        if name.endswith(_QUESTIONS) and "question" in name.lower():
            content = _read(path)
            try:
                read = question_files.parse(content.decode("utf-8-sig"), name)
            except (ImportRefused, UnicodeDecodeError) as error:
                refused = f" ({name} cannot be read: {error})"
                continue
            if read.prefix == description.name:
                fitting.setdefault(content, name)
    if not fitting:
        raise ImportRefused(
            f"{source} has no question file with 'prefix: {description.name}'{refused}"
        )
    if len(fitting) > 1:
        raise ImportRefused(
            f"{source} has several question files of {description.name} "
            f"({', '.join(fitting.values())}): name the folder with the right one"
        )
    ((content, name),) = fitting.items()
    result.remarks.append(
        f"kgbench knows no checksum of {name}; it has the SHA-256 {_digest(content)}"
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


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _find(folder: Path, wanted: str) -> list[Path]:
    """Return the file ``wanted``, else those whose paths end in it, else in its name."""
    if (folder / wanted).is_file():
        return [folder / wanted]
    ending = [path for path in _files(folder) if path.as_posix().endswith(f"/{wanted}")]
    return ending or [path for path in _files(folder) if path.name == Path(wanted).name]


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(json_files.MOST + 1)
    if len(content) > json_files.MOST:
        raise ImportRefused(f"{path} has more than {json_files.MOST} bytes")
    return content
