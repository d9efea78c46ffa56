# SPDX-License-Identifier: Apache-2.0
"""The criteria of F-UJI (FAIRsFAIR metrics 0.8), as far as a folder can answer them.

Those about what the metadata say are declared queries over the catalogue; those about how a page
offers them look at the landing page. What only a running host shows (that addresses resolve, over
which protocol) is answered by the files that it would send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kgbench.publish.checks import declared
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Entry, Fault

_JSON_LD = re.compile(
    r"""<script[^>]*type\s*=\s*["']application/ld\+json["'][^>]*>(.*?)</script>""", re.DOTALL
)
# Links to metadata; ``item`` leads to data, which are in RDF as well.
_TYPED = re.compile(r'<link\b[^>]*\brel="?(?:alternate|describedby)\b[^>]*>', re.IGNORECASE)
_AGAIN = "Publish again."
_PAGE = "index.html"


def checklist(published: Published) -> Iterator[Entry]:
    """Every criterion with its verdict."""
    embedded, broken = _embedded(published)
    looked: dict[str, list[Fault]] = {
        "fsf-f4-01m": [*broken, *_searchable(embedded)],
        "fsf-i1-01m": list(_typed_links(published)),
        "fsf-a1-02md": list(_retrievable(published)),
        "fsf-r1-01m": list(_variables(embedded)),
    }
    for name, constraint in declared.group("fair").items():
        entry = Entry(name, f"{_spelt(name)} {constraint.label}")
        entry.add(
            constraint.faults(
                published.catalogue, lambda node: published.file_of(node, published.catalogue)
            )
        )
        entry.add(fault for fault in looked.get(name, []))
        yield entry


def _spelt(name: str) -> str:
    """A criterion as F-UJI writes it: FsF-F1-01MD."""
    return "FsF-" + name.removeprefix("fsf-").upper()


def _embedded(published: Published) -> tuple[list[dict[str, Any]], list[Fault]]:
    """The JSON-LD in the landing page, and what is wrong with it."""
    if not (published.folder / _PAGE).is_file():
        return [], [Fault("fsf-f4-01m", "", _PAGE, "There is no landing page.", _AGAIN)]
    text = (published.folder / _PAGE).read_text(encoding="utf-8", errors="replace")
    found: list[dict[str, Any]] = []
    broken = []
    for block in _JSON_LD.findall(text):
        try:
            parsed = json.loads(block)
        except (ValueError, RecursionError) as error:
            message = f"The embedded JSON-LD cannot be read: {error}."
            broken.append(Fault("fsf-f4-01m", "", _PAGE, message, _AGAIN))
            continue
        for each in parsed if isinstance(parsed, list) else [parsed]:
            found += each.get("@graph", [each]) if isinstance(each, dict) else []
    return [each for each in found if isinstance(each, dict)], broken


def _data_sets(embedded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def kinds(each: dict[str, Any]) -> list[Any]:
        kind = each.get("@type", [])
        return kind if isinstance(kind, list) else [kind]

    return [each for each in embedded if any(str(k).endswith("Dataset") for k in kinds(each))]


def _searchable(embedded: list[dict[str, Any]]) -> Iterator[Fault]:
    if not _data_sets(embedded):
        message = "The landing page embeds no schema.org Dataset as JSON-LD."
        yield Fault("fsf-f4-01m", "", _PAGE, message, _AGAIN)
        return
    for each in _data_sets(embedded):
        for name in ("name", "description", "license", "creator", "distribution"):
            if not each.get(name):
                message = f"The embedded Dataset has no {name}."
                yield Fault("fsf-f4-01m", str(each.get("@id", "")), _PAGE, message, _AGAIN)


def _variables(embedded: list[dict[str, Any]]) -> Iterator[Fault]:
    if not any(each.get("variableMeasured") for each in _data_sets(embedded)):
        message = "The embedded Dataset names no variables that were measured."
        remedy = "Publish again; the metrics of the data set are its variables."
        yield Fault("fsf-r1-01m", "", _PAGE, message, remedy)


def _typed_links(published: Published) -> Iterator[Fault]:
    page = published.folder / _PAGE
    text = page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
    links = " ".join(_TYPED.findall(text))
    for media, name in (("text/turtle", "catalog.ttl"), ("application/ld+json", "catalog.jsonld")):
        if not (published.folder / name).is_file():
            yield Fault("fsf-i1-01m", "", name, "The metadata are missing in RDF.", _AGAIN)
        if media not in links:
            message = f"The landing page has no typed link to {media}."
            yield Fault("fsf-i1-01m", "", _PAGE, message, _AGAIN)


def _retrievable(published: Published) -> Iterator[Fault]:
    for name in (_PAGE, "catalog.ttl"):
        if not (published.folder / name).is_file():
            yield Fault("fsf-a1-02md", "", name, "The metadata are not there.", _AGAIN)
    if published.base is None:
        message = "The catalogue names no data set, so that nothing can be retrieved by it."
        yield Fault("fsf-a1-02md", "", "catalog.ttl", message, _AGAIN)
