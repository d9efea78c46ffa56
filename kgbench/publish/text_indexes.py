# SPDX-License-Identifier: Apache-2.0
"""The index of a run's texts: the dialogues in which each occurs, on sixteen pages.

Equal texts are one resource of the run, and so are not part of a single dialogue. The published IRI
of a text is a fragment of one of these pages, selected by the last digit of its digest
(:mod:`kgbench.store.fragments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kgbench.publish.addresses import url
from kgbench.publish.dialogues import DialogueQuads
from kgbench.publish.folder import Folder
from kgbench.publish.page_renderer import PageRenderer
from kgbench.rdf import digest
from kgbench.record import schema

_DIGITS = "0123456789abcdef"


class Entry(NamedTuple):
    """A text: a link to its first dialogue, and the number of its other occurrences."""

    name: str
    link: str | None
    more: int


def text_lines(dialogue: DialogueQuads, page: str) -> Iterator[str]:
    """Yield lines that list the texts of a dialogue, which is on ``page``."""
    for iri in (*dialogue.prompts, *dialogue.answers, *dialogue.tool_calls, *dialogue.tool_results):
        for predicate in schema.texts():
            for text in dialogue.properties[iri].get(predicate, ()):
                yield f"{text.value}\t{page}\t{iri.partition('#')[2]}\n"


def write(
    folder: Folder,
    renderer: PageRenderer,
    run: str,
    lists: Sequence[str],
    unused: Sequence[str],
) -> list[str]:
    """Write the index of a run (IRI) from the work files in ``lists``; return its page paths.

    ``unused`` are texts that occur in no dialogue. The lists are first divided by page, so that the
    texts of a large run are never in memory together.
    """
    pages = []
    base = f"{renderer.addresses.rebase(run)}/text/"
    parts = {digit: folder.work(f"texts-{digest(run)}-{digit}") for digit in _DIGITS}
    _divide(map(folder.work, lists), base, parts)
    for digit, part in parts.items():
        page_iri = f"{base}{digit}"
        occurrences: dict[str, list[Any]] = {
            iri.partition("#")[2]: [None, 0] for iri in unused if iri.startswith(f"{page_iri}#")
        }
        with part.open(encoding="utf-8") as lines:
            for line in lines:
                iri, page, fragment = line.rstrip("\n").split("\t")
                occurrence = occurrences.setdefault(iri.partition("#")[2], [(page, fragment), -1])
                occurrence[1] += 1
        part.unlink()
        if occurrences:
            pages.append(_page(folder, renderer, page_iri, run, occurrences))
    return pages


def _divide(lists: Iterable[Path], base: str, parts: Mapping[str, Path]) -> None:
    """Divide the lines of all ``lists`` by the page of the text (its digit), and remove the lists.

    Texts that are not below ``base`` belong to other runs.
    """
    with ExitStack() as stack:
        files = {
            digit: stack.enter_context(part.open("w", encoding="utf-8"))
            for digit, part in parts.items()
        }
        for path in lists:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    digit = line.removeprefix(base).partition("#")[0]
                    if digit in files:
                        files[digit].write(line)
            path.unlink()


def _page(
    folder: Folder, renderer: PageRenderer, iri: str, run: str, occurrences: dict[str, list[Any]]
) -> str:
    document_path = renderer.addresses.document_path(iri)
    path = f"{document_path}/index.html"
    root = "../" * (document_path.count("/") + 1)
    entries = [
        Entry(name, None if first is None else url(first[0], root, fragment=first[1]), more)
        for name, (first, more) in sorted(occurrences.items())
    ]
    context = {"iri": iri, "run": renderer.addresses.published(run), "entries": entries}
    folder.write(path, renderer.page("texts.html", path, context))
    return path
