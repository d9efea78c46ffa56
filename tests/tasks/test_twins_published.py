# SPDX-License-Identifier: Apache-2.0
"""Claims of docs/twins.md about Text2KGBench, counted in the published data."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from kgbench.datasets import text2kgbench
from tests.documented import DOCS


def at(name: str) -> str:
    """Return a pattern for a name as whole words."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"


def test_names_of_text2kgbench_stand_in_few_sentences(external_data: Path) -> None:
    """Sentences with all names of their facts are counted, and those with such words elsewhere."""
    found: Counter[tuple[str, str]] = Counter()
    root = external_data / "text2kgbench"
    for collection, name in text2kgbench.parts(root):
        for sentence in text2kgbench.read_part(root, collection, name).test:
            facts = sentence.facts
            names = {n.replace("_", " ") for f in facts for n in (f.subject, f.object)}
            found[collection, "all"] += 1
            if not names or not all(re.search(at(each), sentence.text) for each in names):
                continue
            found[collection, "named"] += 1
            whole = "|".join(map(at, sorted(names, key=len, reverse=True)))
            left = set(re.findall(r"\w+", re.sub(whole, " ", sentence.text)))
            words = re.findall(r"[^\W\d]{4,}", " ".join(names))
            found[collection, "elsewhere"] += not left.isdisjoint(words)
    counts = [
        f"{found[collection, kind]:,}"
        for kind in ("named", "all", "elsewhere")
        for collection in ("wikidata_tekgen", "dbpedia_webnlg")
    ]
    page = " ".join((DOCS / "twins.md").read_text(encoding="utf-8").split())
    named, others, sentences, more, elsewhere, last = counts
    assert f"{named} of the {sentences} test sentences of Wikidata-TekGen" in page
    assert f"{others} of the {more} of DBpedia-WebNLG" in page
    assert f"in {elsewhere} and {last} of them" in page
