# SPDX-License-Identifier: Apache-2.0
"""The index of the texts of a run: in which dialogues each stands, in sixteen pages.

Equal texts are one text of the run, and so a part of no single dialogue. The published IRI of a
text is a place in one of these pages, the one of the last digit of its digest
(:mod:`kgbench.store.fragments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kgbench.publish.addresses import url
from kgbench.publish.dialogues import TEXTS, Gathered
from kgbench.publish.folder import Folder
from kgbench.publish.presenting import Presenting
from kgbench.vocab import PROV


class Entry(NamedTuple):
    """A text: the place of the first dialogue that it stands in, and how many others it does."""

    name: str
    link: str | None
    more: int


def noted(found: Gathered, page: str) -> Iterator[str]:
    """Lines that say which texts stand in a dialogue, which is on the page at ``place``."""
    for iri in (*found.prompts, *found.answers, *found.tool_calls, *found.tool_results):
        used = (PROV.used,) if iri in found.tool_calls else ()
        for predicate in (*(one.value for one in TEXTS), *used):
            for text in found.said[iri].get(predicate, ()):
                yield f"{text.value}\t{page}\t{iri.partition('#')[2]}\n"


def write(
    folder: Folder,
    renderer: Presenting,
    run: str,
    lists: Sequence[str],
    unused: Sequence[str],
) -> list[str]:
    """Write the index of a run (IRI) from the work files in ``lists``; the paths of its pages.

    ``unused`` are texts that stand in no dialogue. The work files are read once for each page, so
    that the texts of a large run are never held at once.
    """
    pages = []
    whole = f"{renderer.addresses.moved(run)}/text/"
    for digit in "0123456789abcdef":
        about = f"{whole}{digit}"
        found: dict[str, list[Any]] = {
            iri.partition("#")[2]: [None, 0] for iri in unused if iri.startswith(f"{about}#")
        }
        for name, page, fragment in _lines(folder, lists, f"{about}#"):
            known = found.get(name)
            if known is None:
                found[name] = [(page, fragment), 0]
            else:
                known[1] += 1
        if found:
            pages.append(_page(folder, renderer, about, run, found))
    for name in lists:
        folder.work(name).unlink()
    return pages


def _lines(folder: Folder, lists: Iterable[str], start: str) -> Iterator[tuple[str, str, str]]:
    for name in lists:
        with folder.work(name).open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(start):
                    iri, page, fragment = line.rstrip("\n").split("\t")
                    yield iri[len(start) :], page, fragment


def _page(
    folder: Folder, renderer: Presenting, iri: str, run: str, found: dict[str, list[Any]]
) -> str:
    document_path = renderer.addresses.document_path(iri)
    path = f"{document_path}/index.html"
    root = "../" * (document_path.count("/") + 1)
    entries = [
        Entry(name, None if at is None else url(at[0], root, fragment=at[1]), more)
        for name, (at, more) in sorted(found.items())
    ]
    context = {"iri": iri, "run": renderer.addresses.published(run), "entries": entries}
    folder.write(path, renderer.page("texts.html", path, context))
    return path
