# SPDX-License-Identifier: Apache-2.0
"""What kgbench makes of the small store, as text by the names of the golden files."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import zstandard
from starlette.testclient import TestClient

import kgbench
from kgbench.analysis.index import ANALYSES
from kgbench.vocab import BASE, KGB, RDF, XSD
from tests.golden import families, store
from tests.support.commands import printed
from tests.support.stores import quads, results_only

WIDTH = 200  # characters of JSON that fit a line
LINKS = 20  # links that are listed
BLANK = re.compile(r"_:\w+")
ORACLE, NOISY = "baseline:oracle", "baseline:noisy?rate=0.5&seed=3"
SUITE = ("--suite", "kgbench-1")
#: Analyses that need more than the suite of the two runs, and variants of some.
ARGUMENTS = {
    "compass": (*SUITE, "--compass", "eswc"),
    "published-means": ("--suite", "text2sparql-2025"),
    "scaling": (*SUITE, "--points", "--declared", "records.ttl"),
    "sizes": (*SUITE, "--metric", "f1", "--task", "RdfFriendCount-*"),
    "text2kg": ("--suite", "text2kgbench"),
}
VARIANTS = {
    "leaderboard-significance": ("leaderboard", *SUITE, "--significance"),
    "leaderboard-imported": ("leaderboard", "--suite", "llm-kg-bench-3", "--set", "swj-published"),
    "format-preference-details": ("format-preference", *SUITE, "--details"),
    "tools-models": ("tools", *SUITE, "--by", "model"),
    "policies-spinach": ("policies", "--suite", "spinach"),
}
LARGER = ("judged-means",)  # analyses that refuse so few cases
TABLES = VARIANTS | {
    name: (name, *ARGUMENTS.get(name, SUITE)) for name in ANALYSES if name not in LARGER
}
COMPARED = ("compare", ORACLE, NOISY, *SUITE)
COMMANDS: dict[str, tuple[object, ...]] = {
    "compare": COMPARED,
    "compare-repetitions": (*COMPARED, "--estimand", "repetitions"),
    "compare-tasks": (*COMPARED, "--estimand", "tasks"),
    "compare-dialogues": (*COMPARED, "--estimand", "dialogues"),
    "dialogues": ("dialogues", *SUITE),
    "models-list": ("models", "list"),
    "models-show": ("models", "show", ORACLE),
    "plan": ("plan", "--detect", 0.1, "--from", "kgbench-1"),
    "run-dry": ("run", "small.yaml", "--dry-run"),
    "status": ("status",),
    "status-why": ("status", "few", "--why"),
}
#: Pages: an address, or a pattern of IRIs, of which the first is shown.
PAGES = {
    "home": "/",
    "leaderboard": "/leaderboard?suite=kgbench-1",
    "compare": "/compare?suite=kgbench-1&a=baseline:oracle&b=baseline:silent",
    "dialogues": "/dialogues?suite=llm-kg-bench-3",
    "search": "/search?q=parrot",
    "run": "run/[^/]+",
    "dialogue": "run/[^/]+/baseline-noisy[^/]+/DifferenceWorld-natural-1/0-[^/]+",
    "dialogue-tools": "run/[^/]+/baseline-noisy[^/]+/Text2SparqlTools[^/]+/0-[^/]+",
    "dialogue-imported": "run/[^/]+/parrot-2/RdfSyntaxFixList-turtle/0-[^/]+",
    "case": "case/kgbench-1/RdfFriendCount/.+",
    "metric": "metric/RdfFriendCount/[^/]+/f1",
    "model": "model/baseline-oracle-[^/]+",
    "pass": "pass/[^/]+",
    "suite": "/suite/kgbench-1",
    "task": "task/DifferenceWorld/.+",
}
PUBLISH = (
    *("publish", "--run", "few", "--base", "https://example.org/small/", "--processes", 1),
    *("--title", "Small", "--licence", "CC-BY-4.0", "--creator", "Ada Example"),
)
#: Ends of properties: when a publication was made, and facts about its files.
CHANGING = ("#byteSize", "#checksumValue", "#triples", "#endedAtTime", "/issued", "/modified")
COUNTED = ("data", "graph", "pass", "run")  # folders of results in a publication
BLOCKS = re.compile(r"\s*(?=<(?:h[1-6]|p|[dou]l|li|d[dt]|table|tr|form|option|pre|details)\b)")
LOOKS = re.compile(r' (?:class|data-(?!value)[\w-]+|scope|tabindex|role|aria-[\w-]+)="[^"]*"')


class Small:
    """The small store, what the commands said that made it, and a server."""

    def __init__(self, folder: Path, client: TestClient, said: dict[str, str]) -> None:
        self.folder, self.client, self.said = folder, client, said
        self.quads = results_only(quads(folder / "store"))

    def printed(self, *words: object, code: int = 0) -> str:
        """Return the output of a command; words may name files beside the store."""
        files = {path.name: path for path in self.folder.iterdir()}
        typed = [files.get(str(word), word) for word in words]
        with store.fixed():
            return self.tidy(printed(*typed, env={"COLUMNS": "100"}, code=code))

    def asked(self, *words: object) -> str:
        """Return the output of a command on the store."""
        return self.printed(*words, "--store", "store")

    def tidy(self, text: str) -> str:
        """Return a text without folders, checksums of files and the version."""
        text = text.replace(str(self.folder), "FOLDER").replace(
            os.environ["XDG_STATE_HOME"], "STATE"
        )
        text = re.sub("sha256-[0-9a-f]{64}", "sha256", text)
        return text.replace(f"kgbench {kgbench.__version__}", "kgbench VERSION")

    def page(self, address: str) -> str:
        """Return the content of a page without pictures and looks, with line breaks."""
        if not address.startswith("/"):
            named = {term.value for quad in self.quads for term in (quad.subject, quad.predicate)}
            iris = sorted(iri.removeprefix(BASE) for iri in named)
            address = "/" + next(iri for iri in iris if re.fullmatch(address, iri))
        response = self.client.get(address, headers={"Accept": "text/html"})
        assert response.status_code == 200, response.text
        text = re.search(r"<main.*</main>", self.tidy(response.text), re.DOTALL)[0]
        text = LOOKS.sub("", re.sub(r"<svg.*?</svg>", "<svg/>", text, flags=re.DOTALL))
        lines = BLOCKS.sub("\n", text).split("\n")
        return "\n".join(shortened(line.strip() for line in lines if line.strip()))

    def triples(self, run: str) -> str:
        """Return the sorted triples of a run without its passes, each subject on its own line."""
        name = ox.Literal(run)
        graph = next(q.graph_name for q in self.quads if q.object == name)
        found = sorted((q for q in self.quads if q.graph_name == graph), key=str)
        lines: list[str] = []
        for subject, about in itertools.groupby(found, lambda quad: quad.subject):
            lines += [f"{subject}", *(f"  {quad.predicate} {quad.object} ." for quad in about)]
        return self.tidy("\n".join(lines).replace(f"<{BASE}", "<").replace(f"<{XSD}", "<xsd:"))


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, but of many links to resources that mention another only number and digest."""
    for is_link, group in itertools.groupby(lines, lambda line: line.startswith("<dd><a href=")):
        found = list(group)
        if is_link and len(found) > LINKS:
            yield f"{len(found)} links {digest(sorted(found))}"
        else:
            yield from found


def digest(lines: Iterable[str]) -> str:
    """Return a short digest of lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def digests(small: Small, found: Iterable[ox.Quad]) -> str:
    """Return a line for each class in each graph: the number of quads, and a digest of them."""
    found = list(found)
    kinds: dict[Any, str] = {}
    for quad in found:
        if quad.predicate.value == RDF.type:
            kind = quad.object.value
            first = not kind.startswith(KGB), kind
            known = kinds.get(quad.subject, kind)
            kinds[quad.subject] = min((not known.startswith(KGB), known), first)[1]
    parts: dict[str, list[str]] = defaultdict(list)
    for quad in found:
        graph = getattr(quad.graph_name, "value", "").removeprefix(BASE)
        kind = kinds.get(quad.subject, "").rpartition("#")[2].rpartition("/")[2]
        parts[f"{graph} {kind}".strip()].append(small.tidy(BLANK.sub("_:b", str(quad))))
    return "\n".join(
        f"{part} {len(each)} {digest(sorted(each))}" for part, each in sorted(parts.items())
    )


def laid_out(text: str) -> str:
    """Return JSON with everything that is short enough on one line."""

    def lines(value: Any, indent: str) -> str:
        flat = json.dumps(value, ensure_ascii=False)
        if len(flat) <= WIDTH or not isinstance(value, dict | list):
            return flat
        further = indent + " "
        if isinstance(value, list):
            items, ends = [lines(each, further) for each in value], "[]"
        else:
            items = [f"{json.dumps(key)}: {lines(each, further)}" for key, each in value.items()]
            ends = "{}"
        return (
            f"{ends[0]}\n" + ",\n".join(further + item for item in items) + f"\n{indent}{ends[1]}"
        )

    return lines(json.loads(text), "")


def published(site: Path, name: str) -> list[ox.Quad]:
    """Return the quads of a file of a publication."""
    with (site / name).open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        content = plain.read() if name.endswith(".zst") else file.read()
    return list(ox.parse(content, format=ox.RdfFormat.N_QUADS))


def harvested(small: Small) -> str:
    """Return the report on a harvest of the publication, without its time and checksums."""
    into = small.folder / "harvested"
    said = small.printed("harvest", "site", "--into", into, "--unsigned", "--json")
    return laid_out(re.sub(r'"[0-9a-f]{64}"|(?<="harvested": )"[^"]*"', '""', said))


def paths(site: Path) -> str:
    """Return the kinds of files by the first folder, and how many there are of results."""
    names = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    found = Counter((name.parts[0] if name.parts[1:] else ".", name.suffix) for name in names)
    return "\n".join(
        f"{folder} *{suffix} {number if folder in COUNTED else ''}".strip()
        for (folder, suffix), number in sorted(found.items())
    )


def checked(small: Small) -> str:
    """Return the report on a check of the publication, without the numbers of what it checked."""
    said = small.printed("publish", "--check", "site", "--json", code=1)
    return laid_out(re.sub(r'(?<="note": ")\d+', "N", said))


OF_STORE: dict[str, Callable[[Small], str]] = {
    **{
        f"analyses/{name}.csv": lambda small, words=words: small.asked(
            "analyze", *words, "--format", "csv"
        )
        for name, words in TABLES.items()
    },
    **{
        f"analyses/{name}.json": lambda small, words=words: laid_out(
            small.asked("analyze", *words, "--json")
        )
        for name, words in TABLES.items()
    },
    **{
        f"commands/{name}.json": lambda small, words=words: laid_out(small.asked(*words, "--json"))
        for name, words in COMMANDS.items()
    },
    **{
        f"made/{name}.json": lambda small, name=name: laid_out(small.tidy(small.said[name]))
        for name in store.STEPS
    },
    **{
        f"pages/{name}.html": lambda small, address=address: small.page(address)
        for name, address in PAGES.items()
    },
    "export-table.csv": lambda small: small.asked("export", "table", "few", "--format", "csv"),
    "run.nt": lambda small: small.triples("few"),
    "store.txt": lambda small: digests(small, small.quads),
}
OF_PUBLICATION: dict[str, Callable[[Small, Path], str]] = {
    "publication/results.txt": lambda small, site: digests(
        small, results_only(published(site, "data/all.nq.zst"))
    ),
    "publication/catalogue.txt": lambda small, site: digests(
        small,
        (
            quad
            for quad in ox.parse(path=str(site / "catalog.ttl"))
            if not quad.predicate.value.endswith(CHANGING)
        ),
    ),
    "publication/files.txt": lambda _, site: paths(site),
    "publication/check.json": lambda small, _: checked(small),
    "publication/harvest.json": lambda small, _: harvested(small),
}
OF_FAMILIES: dict[str, Callable[[], Iterable[str]]] = {
    "families/worlds.txt": families.worlds,
    **{f"families/{name}.txt": partial(families.family, name) for name in families.LABELS},
}
