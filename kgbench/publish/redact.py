# SPDX-License-Identifier: Apache-2.0
"""The published store: what may leave a store, with published IRIs, as dumps and as a database.

Each part of the store (its catalogue, each run with its passes, and the rest) is redacted into a
dump. Unchanged parts keep their dumps. All dumps together are loaded into a database, and whatever
else belongs to a publication is made from this database alone, so that the code behind pages,
tables and metadata never meets what is withheld. The dumps of an encrypted publication have texts
that its pages leave out, so its database is filled by a second, stricter redaction.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.connectors import keys
from kgbench.connectors.declared import declarations
from kgbench.model import Json
from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.publish import dumps
from kgbench.publish.dumps import DumpWriter, Packing, as_bytes
from kgbench.publish.folder import Dump, Folder, Manifest, Unit
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redaction import Addresses, DigestVeil, RedactionLevel, cases
from kgbench.publish.scrubbing import Scrubber, hosts_and_people, local_names
from kgbench.publish.selection import PublishedParts, RunPart, dialogues_in
from kgbench.publish.settings import software
from kgbench.publish.workers import Progress, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.queries import BoundQuery
from kgbench.scores.reading import CHOOSING
from kgbench.secrets import SHORTEST, SecretDetector, secrets_in_environment
from kgbench.store.iris import slug
from kgbench.store.publication_keys import PublicationKey, publication_key
from kgbench.vocab import KGB, PROV, RDF, RDFS, SCHEMA, SKOS

_CONNECTOR = ox.NamedNode(KGB.connector)
_NAMED = re.compile(r"\bkey_env\b[\"']?\s*[=:]\s*[\"']?(\w+)")
CATALOGUE, OTHER = "catalogue", "other"
_QUADS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redaction of a store: its snapshot, the published parts, and the rules.

    ``rules`` apply to dumps, and ``page_rules`` to the database.
    """

    snapshot: str
    parts: PublishedParts
    addresses: Addresses
    rules: RedactionRules
    page_rules: RedactionRules
    packing: Packing
    out: Path

    def graphs(self) -> dict[str, tuple[str, ...]]:
        """Return the graphs of each part, by its name."""
        parts: dict[str, tuple[str, ...]] = {CATALOGUE: (self.parts.catalogue,)}
        if self.parts.others:
            parts[OTHER] = tuple(graph for graph, _ in self.parts.others)
        return parts | {run.name: run.graphs for run in self.parts.runs}

    def keys(self, view: View) -> dict[str, str]:
        """Return the key of each part: a digest of what its dump depends on."""
        rules, addresses, stamps = self.rules, self.addresses, self.parts.stamps
        pattern = view.database.quads_for_pattern
        declared = pattern(None, ox.NamedNode(KGB.declaredDigest), None)
        invalidations: list[Json] = [
            [thing, stamps.get(graph, "")]
            for graph, thing in self.parts.others
            if KGB.Invalidation in things.kinds(view, thing)
        ]
        common: list[Json] = [
            addresses.store,
            addresses.base,
            dict(addresses.renamed),
            [int(rules.level), int(rules.page_level)],
            sorted(rules.scrubber.names),
            rules.scrubber.secrets.identity(),
            rules.key.tag("state", ""),
            self.packing.suffix,
            rules.key.tag("password", self.packing.password or ""),
            self.packing.comment,
            software(),
            sorted(str(quad.object) for quad in declared),
            invalidations,
        ]
        keys = {}
        for name, graphs in self.graphs().items():
            about: list[Json] = [[graph, stamps.get(graph, "")] for graph in graphs]
            if name == CATALOGUE:
                about += [sorted(self.parts.graphs), sorted(self.parts.unused)]
            keys[name] = digest(canonical_json([common, about]))
        return keys


class RedactedPart(NamedTuple):
    """A redacted part: its dump and number of changed files.

    ``loaded`` is the file to load into the database.
    """

    dump: Dump
    changed: int
    loaded: Path


class Redactor:
    """Redacts parts of a store, in one process."""

    def __init__(self, redaction: Redaction, journal: str) -> None:
        self._redaction = redaction
        self._journal = journal
        view = View(Path(redaction.snapshot), None, redaction.addresses.store)
        self._dumped = QuadRedactor(view.database, redaction.addresses, redaction.rules)
        self._shown = QuadRedactor(view.database, redaction.addresses, redaction.page_rules)

    def part(
        self, name: str, graphs: tuple[str, ...], known: Unit | None, *, unchanged: bool
    ) -> RedactedPart:
        """Write the dump of a part, unless it is ``unchanged``, and its content for the database.

        ``known`` is the part in the last publication.
        """
        redaction = self._redaction
        earlier = None if known is None else next(iter(known.dumps), None)
        with Folder(redaction.out, self._journal) as folder:
            if unchanged and earlier is not None:
                dump = earlier
            else:
                writer = DumpWriter(folder, f"data/{name}.nq", redaction.packing)
                writer.write(f"# {redaction.packing.comment}\n".encode())
                for lines in self._lines(self._dumped, name, graphs):
                    writer.write(lines)
                dump = writer.finish(earlier)
            loaded = redaction.out / dump.path
            if redaction.rules != redaction.page_rules:
                loaded = folder.work(f"{name}.nq")
                with loaded.open("wb") as out:
                    out.writelines(self._lines(self._shown, name, graphs))
            return RedactedPart(dump, folder.changed, loaded)

    def _lines(self, redactor: QuadRedactor, name: str, graphs: tuple[str, ...]) -> Iterator[bytes]:
        """Yield the published quads of a part as N-Quads, many lines at once."""
        waiting: list[ox.Quad] = []
        subjects = (
            _needed(redactor, self._redaction.parts)
            if name == CATALOGUE
            else chain.from_iterable(map(redactor.graph, graphs))
        )
        for quads in subjects:
            waiting += quads
            if len(waiting) >= _QUADS_AT_ONCE:
                yield as_bytes(waiting)
                waiting.clear()
        yield as_bytes(waiting)


def _needed(redactor: QuadRedactor, parts: PublishedParts) -> Iterator[list[ox.Quad]]:
    """Yield the catalogue by subject, without what no published run needs.

    Cases of suites without a published run are always left out, because nobody decided whether
    their texts may be published.
    """

    def published(iris: Iterable[str]) -> set[str]:
        return {redactor.node(iri).value for iri in iris}

    unused = published(parts.unused)
    of_runs = {
        KGB.ResultGraph: published(parts.graphs),
        KGB.Model: published(parts.models),
        KGB.Reviewer: published(parts.reviewers),
    }
    for quads in redactor.graph(parts.catalogue):
        statements = {(q.predicate.value, str(getattr(q.object, "value", ""))) for q in quads}
        kinds = {value for name, value in statements if name == RDF.type}
        subject = str(quads[0].subject).strip("<>")
        if subject in unused:
            continue
        if KGB.Case in kinds:
            if any(name == KGB.suite and value in parts.suites for name, value in statements):
                yield quads
        elif not parts.partial or all(
            subject in iris for kind, iris in of_runs.items() if kind in kinds
        ):
            yield quads


def redact(
    redaction: Redaction,
    view: View,
    folder: Folder,
    earlier: Manifest,
    *,
    processes: int,
    progress: Progress,
) -> tuple[dict[str, Unit], list[Path]]:
    """Redact a store; return its parts by name, and the files that fill the published store.

    ``progress`` is called with the numbers of dialogues that are done and to do.
    """
    runs: dict[str, RunPart] = {run.name: run for run in redaction.parts.runs}
    keys = redaction.keys(view)
    kept = {name: earlier.keep(folder, name, key) for name, key in keys.items()}
    sizes = {
        name: dialogues_in(view.database, runs[name].graph)
        for name in runs
        if kept[name] is None or redaction.rules != redaction.page_rules
    }
    done, total = 0, sum(sizes.values())
    units, loaded = {}, []
    with workers(partial(Redactor, redaction), processes, total) as pool:
        pending = {
            name: pool.submit(
                Redactor.part,
                name,
                graphs,
                kept[name] or earlier.units.get(name),
                unchanged=kept[name] is not None,
            )
            for name, graphs in redaction.graphs().items()
        }
        for name, result in pending.items():
            part = result()
            files = {part.dump.path: part.dump.sha256}
            units[name] = Unit(keys[name], files, (part.dump,))
            loaded.append(part.loaded)
            folder.written.update(files)
            folder.changed += part.changed
            done += sizes.get(name, 0)
            progress(done, total, "redacted dialogues")
    return dict(sorted(units.items())), loaded


class PublishedView(View):
    """The published store; it never changes, so results of queries of its catalogue are cached.

    Each table asks for tasks, metrics and models, and each page has several tables. The results
    are as large as the catalogue, whatever the number of dialogues.
    """

    def __init__(self, path: Path, base: str) -> None:
        super().__init__(path, None, base)
        self.tables = {}
        self._results: dict[str, list[Any]] = {}

    def query(self, text: str) -> Any:
        """Return the result of a query."""
        if not isinstance(text, BoundQuery) or text.name not in CHOOSING:
            return super().query(text)
        if text not in self._results:
            self._results[text] = list(super().query(text))
        return self._results[text]


@contextmanager
def published_store(
    files: Iterable[Path], base: str, *, trusted: bool = True
) -> Iterator[PublishedView]:
    """Load dumps into a database in a temporary folder, which is removed at the end.

    Raises :class:`~kgbench.publish.dumps.Unreadable` for dumps by others, which are not
    ``trusted``, if they are nested too deeply for the parser.
    """
    with tempfile.TemporaryDirectory(prefix="kgbench-publish-") as scratch:
        snapshot = Path(scratch) / "snapshots" / "published"
        snapshot.mkdir(parents=True)
        database = ox.Store(str(snapshot))
        for path in files:
            if not trusted:
                dumps.refuse_too_deep(path, None)
            with dumps.opened(path, None) as content:
                database.bulk_load(content, ox.RdfFormat.N_QUADS)
        database.flush()
        del database  # closes it, so that it can be opened for reading
        yield PublishedView(snapshot, base)


# --- rules ----------------------------------------------------------------------------------------


def prepare_rules(
    view: View,
    location: str,
    base: str,
    level: RedactionLevel,
    runs: Mapping[str, str] | None = None,
) -> tuple[RedactionRules, Addresses]:
    """Return the redaction rules and addresses for publishing the store ``location`` at ``base``.

    ``runs`` has the run of each evaluation pass, for parts that are named by fragments.
    """
    scrubber = Scrubber(
        local_names() | hosts_and_people(identifying_texts(view.database)),
        SecretDetector(known_keys(view.database)),
    )
    key = publication_key(location)
    addresses = Addresses(
        view.iris.base,
        base,
        renamed_segments(view, scrubber, key),
        None if level is RedactionLevel.NONE else DigestVeil(key, cases(view.database, level, key)),
        runs,
    )
    return RedactionRules(level, scrubber, key, level), addresses


def known_keys(database: ox.Store) -> frozenset[str]:
    """Return the keys of this process, and those that the runs in a store used, if they are here.

    These are in the variables of their connectors, and in those that configurations name.
    """
    texts = identifying_texts(database)
    variables = {match[1] for text in texts for match in _NAMED.finditer(text)}
    used = {quad.object for quad in database.quads_for_pattern(None, _CONNECTOR, None)}
    for name, declared in declarations().items():
        if declared.service is not None and ox.Literal(name) in used:
            variables.update(declared.service.keys)
    known = keys.keys_in_use() | keys.held(variables)
    long = {key for key in known if len(key) >= SHORTEST}
    return secrets_in_environment() | long


def identifying_texts(database: ox.Store) -> Iterator[str]:
    """Yield texts that may name hosts and people."""
    for predicate in (KGB.baseUrl, SCHEMA.error, KGB.caseEndpoint):
        for quad in database.quads_for_pattern(None, ox.NamedNode(predicate), None):
            yield str(getattr(quad.object, "value", ""))
    for kind in (KGB.Configuration, KGB.Model):
        pattern = (None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
        for quad in database.quads_for_pattern(*pattern):
            for predicate in (PROV.value, RDFS.label, SKOS.notation):
                quads: Any = database.quads_for_pattern(quad.subject, ox.NamedNode(predicate), None)
                yield from (str(getattr(match.object, "value", "")) for match in quads)


def renamed_segments(view: View, scrubber: Scrubber, key: PublicationKey) -> dict[str, str]:
    """Return replacements for path segments of models that contain their host or path."""
    replacements = {}
    for iri in things.instances(view, KGB.Model, 1_000_000):
        segment = iri.rpartition("/")[2]
        base_urls = things.values(view, iri, KGB.baseUrl)
        texts = [t.value for p in (RDFS.label, SKOS.notation) for t in things.values(view, iri, p)]
        leaks = any(scrubber.text(text) != text for text in texts) or any(
            _contains_name(segment, name) for name in scrubber.names
        )
        if leaks or any(scrubber.text(url.value) != url.value for url in base_urls):
            cleaned = slug(scrubber.text(texts[0] if texts else "model"))
            replacements[segment] = f"{cleaned}-{key.tag('model', iri)[:8]}"
    return replacements


def _contains_name(segment: str, name: str) -> bool:
    """Return whether a path segment contains the name of a machine or person as a whole word."""
    pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
    return re.search(pattern, segment) is not None
