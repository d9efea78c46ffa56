# SPDX-License-Identifier: Apache-2.0
"""The criteria of F-UJI (FAIRsFAIR metrics 0.8), as far as a folder can answer them.

Criteria about the content of metadata are declared queries over the catalogue; criteria about how
metadata are offered inspect the landing page. Criteria about a running host (that addresses
resolve, by which protocol) are answered from the files that it would send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kgbench.publish.checks import constraints
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Entry, Fault

_JSON_LD = re.compile(
    r"""<script[^>]*type\s*=\s*["']application/ld\+json["'][^>]*>(.*?)</script>""", re.DOTALL
)
# Links to metadata; ``item`` links are left out, because they lead to data.
_TYPED = re.compile(r'<link\b[^>]*\brel="?(?:alternate|describedby)\b[^>]*>', re.IGNORECASE)
_AGAIN = "Publish again."
_PAGE = "index.html"


def checklist(published: PublicationFiles) -> Iterator[Entry]:
    """Yield all criteria with their verdicts."""
    embedded, broken = _embedded(published)
    page_faults: dict[str, list[Fault]] = {
        "fsf-f4-01m": [*broken, *_searchable(embedded)],
        "fsf-i1-01m": list(_typed_links(published)),
        "fsf-a1-02md": list(_retrievable(published)),
        "fsf-r1-01m": list(_variables(embedded)),
    }
    for name, constraint in constraints.group("fair").items():
        entry = Entry(name, f"{_spelling(name)} {constraint.label}")
        entry.add(
            constraint.faults(
                published.catalogue, lambda node: published.file_of(node, published.catalogue)
            )
        )
        entry.add(fault for fault in page_faults.get(name, []))
        yield entry


def _spelling(name: str) -> str:
    """Return a criterion in the spelling of F-UJI: FsF-F1-01MD."""
    return "FsF-" + name.removeprefix("fsf-").upper()


def _embedded(published: PublicationFiles) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Return the JSON-LD in the landing page, and the faults in it."""
    if _PAGE not in published.files:
        return [], [Fault("fsf-f4-01m", "", _PAGE, "There is no landing page.", _AGAIN)]
    text = published.text(_PAGE)
    nodes: list[dict[str, Any]] = []
    broken = []
    for block in _JSON_LD.findall(text):
        try:
            parsed = json.loads(block)
        except (ValueError, RecursionError) as error:
            message = f"The embedded JSON-LD cannot be read: {error}."
            broken.append(Fault("fsf-f4-01m", "", _PAGE, message, _AGAIN))
            continue
        for item in parsed if isinstance(parsed, list) else [parsed]:
            nodes += item.get("@graph", [item]) if isinstance(item, dict) else []
    return [item for item in nodes if isinstance(item, dict)], broken


def _data_sets(embedded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def kinds(node: dict[str, Any]) -> list[Any]:
        kind = node.get("@type", [])
        return kind if isinstance(kind, list) else [kind]

    return [node for node in embedded if any(str(k).endswith("Dataset") for k in kinds(node))]


def _searchable(embedded: list[dict[str, Any]]) -> Iterator[Fault]:
    if not _data_sets(embedded):
        message = "The landing page embeds no schema.org Dataset as JSON-LD."
        yield Fault("fsf-f4-01m", "", _PAGE, message, _AGAIN)
        return
    for data_set in _data_sets(embedded):
        for name in ("name", "description", "license", "creator", "distribution"):
            if not data_set.get(name):
                message = f"The embedded Dataset has no {name}."
                yield Fault("fsf-f4-01m", str(data_set.get("@id", "")), _PAGE, message, _AGAIN)


def _variables(embedded: list[dict[str, Any]]) -> Iterator[Fault]:
    if not any(data_set.get("variableMeasured") for data_set in _data_sets(embedded)):
        message = "The embedded Dataset names no measured variables."
        remedy = "Publish again; the metrics of the data set are its variables."
        yield Fault("fsf-r1-01m", "", _PAGE, message, remedy)


def _typed_links(published: PublicationFiles) -> Iterator[Fault]:
    links = " ".join(_TYPED.findall(published.text(_PAGE)))
    for media, name in (("text/turtle", "catalog.ttl"), ("application/ld+json", "catalog.jsonld")):
        if name not in published.files:
            yield Fault("fsf-i1-01m", "", name, "The metadata are missing in RDF.", _AGAIN)
        if media not in links:
            message = f"The landing page has no typed link to {media}."
            yield Fault("fsf-i1-01m", "", _PAGE, message, _AGAIN)


def _retrievable(published: PublicationFiles) -> Iterator[Fault]:
    for name in (_PAGE, "catalog.ttl"):
        if name not in published.files:
            yield Fault("fsf-a1-02md", "", name, "The metadata are missing.", _AGAIN)
    if published.base is None:
        message = "The catalogue names no data set, so nothing can be retrieved through it."
        yield Fault("fsf-a1-02md", "", "catalog.ttl", message, _AGAIN)
