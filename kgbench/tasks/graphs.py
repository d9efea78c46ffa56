# SPDX-License-Identifier: Apache-2.0
"""Graphs that are too large for cases to contain, by name, and the schema of each as it is used.

``bestiary``, its renamed versions (:mod:`kgbench.tasks.bestiary`) and generated worlds
(:mod:`kgbench.worlds`) are generated from the seed in their name when they are first needed. All
other graphs are published by others and are installed from copies, each as a data set of its name
(``kgbench.datasets``).

The schema has classes, their properties and the values of these, counted. It is computed from the
triples of the graph, so that prompts about any installed graph can show it. The order is
alphabetical and does not depend on how the graph is stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from kgbench import files
from kgbench.datasets import descriptions, home
from kgbench.errors import EvaluationError, ResourceError, TaskError
from kgbench.model import Case
from kgbench.rdf.quads import void_partitions, void_totals
from kgbench.tasks import bestiary, catalogue, serialising
from kgbench.vocab import OWL, RDF, RDFS, VOID
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import load_model

OURS: Final = "bestiary"
PUBLISHED: Final = "beastiary"

_SOURCES: Final = ("beastiary_kg.rdf", "beastiary_kg.rdf.zip")

# Descriptors of installed graphs by path, opened before a process loses access to files.
_opened: dict[Path, int] = {}


def text(name: str) -> str:
    """Return the graph called ``name`` as N-Triples.

    Raises :class:`~kgbench.errors.EvaluationError`, with instructions, if it is not installed.
    """
    if name == OURS:
        return bestiary.text()
    if (world := generator.world_of_name(name)) is not None:
        return generator.text(world)
    if (renamed := bestiary.named(name)) is not None:
        return bestiary.renamed_text(renamed)
    if name not in _names():
        raise EvaluationError(f"there is no graph '{name}' (but {OURS}, {', '.join(_names())})")
    path = _path(name)
    if path not in _opened and not path.is_file():
        raise EvaluationError(_install_hint(name))
    return _read(path)


@lru_cache(maxsize=4)
def world_schema(world: World, **prefixes: str) -> str:
    """Return the schema of a world in Turtle, which also declares further ``prefixes``."""
    lines = "\n".join(generator.schema(generator.build_graph(world)))
    triples = [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]
    all_prefixes = {**questions.PREFIXES, **prefixes, "owl": str(OWL)}
    return serialising.serialise(triples, "turtle", all_prefixes)


def prepare() -> None:
    """Open the installed graphs for judging processes, which cannot open files.

    Also loads the declarations from which other graphs are generated.
    """
    load_model()
    bestiary.prepare()
    for path in map(_path, _names()):
        if path not in _opened and path.is_file():
            _opened[path] = os.open(path, os.O_RDONLY)


def require(cases: Iterable[Case]) -> None:
    """Raise :class:`~kgbench.errors.TaskError` if ``cases`` need a graph that is not installed."""
    for case in cases:
        graph_name = getattr(catalogue.module(case.task_class), "graph_name", None)
        name = None if graph_name is None else graph_name(case)
        if name in _names() and not _path(name).is_file():
            raise TaskError(_install_hint(name))


def install(source: Path) -> Path:
    """Install the published graph from ``source``: its file, its zip, or a folder with either.

    The graph is stored as N-Triples, with a record of its source and the SHA-256 of its file.
    Raises :class:`~kgbench.errors.ResourceError`, and installs nothing, if the graph is missing or
    damaged.
    """
    path = source
    if source.is_dir():
        candidates = [source / name for name in _SOURCES if (source / name).is_file()]
        if not candidates:
            raise ResourceError(f"{source} has neither {' nor '.join(_SOURCES)}")
        path = candidates[0]
    document = _content(path)
    try:
        triples = (quad.triple for quad in ox.parse(document, ox.RdfFormat.RDF_XML))
        content = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise ResourceError(f"the graph cannot be read from {path}: {error}") from error
    if not content:
        raise ResourceError(f"the graph cannot be read from {path}: it has no triples")
    _write(_path(PUBLISHED), content)
    record = {
        "name": PUBLISHED,
        "source": str(source.resolve()),
        "installed": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": hashlib.sha256(document).hexdigest(),
        "tasks": [],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    _write(home.folder_of(PUBLISHED) / home.RECORD, f"{text}\n".encode())
    return _path(PUBLISHED)


def _names() -> tuple[str, ...]:
    """Return the names of published graphs, installed or not."""
    return (PUBLISHED, *descriptions.with_graph())


def _path(name: str) -> Path:
    return home.folder_of(name) / home.GRAPH


def _install_hint(name: str) -> str:
    file = _SOURCES[0] if name == PUBLISHED else f"the data set {name}"
    return (
        f"the graph '{name}', on which these cases run, is not installed in "
        f"{home.folder_of(name)}: get {file} and run 'kgbench datasets install {name} --from PATH'"
    )


@cache
def _read(path: Path) -> str:
    descriptor = _opened.get(path)
    if descriptor is None:
        return path.read_text(encoding="utf-8-sig")
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8-sig")


def _content(source: Path) -> bytes:
    try:
        if source.suffix != ".zip":
            return source.read_bytes()
        with zipfile.ZipFile(source) as archive:
            name = next((n for n in archive.namelist() if n.endswith(_SOURCES[0])), None)
            if name is None:
                raise ResourceError(f"{source} holds no {_SOURCES[0]}")
            return archive.read(name)
    except files.errors_of_damage() as error:
        raise ResourceError(f"the graph cannot be read from {source}: {error}") from error
    except RuntimeError as error:
        raise ResourceError(f"the graph cannot be read from {source}: it is encrypted") from error


def _write(target: Path, content: bytes) -> None:
    """Write a file atomically, because two processes may do so at the same time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


_USUAL: Final = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2001/XMLSchema#": "xsd",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://purl.org/dc/terms/": "dcterms",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
}
_LOCAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_TYPE: Final = str(RDF.type)
_LABEL: Final = str(RDFS.label)
_UNTYPED: Final = "a resource without a class"
_DATASET: Final = "urn:kgbench:graph"


@dataclass(slots=True)
class Profile:
    """Counts of a graph's classes and properties, by IRI.

    ``instances`` counts the instances of each class, ``properties`` the triples of each property,
    ``uses`` the triples of each property by class of the subject. ``ends`` are the classes and
    datatypes of the values of a property of a class.
    """

    triples: int = 0
    instances: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    uses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ends: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    labels: dict[str, str] = field(default_factory=dict)


@cache
def summary(name: str) -> str:
    """Return the schema of the installed graph called ``name``; see :func:`schema_text`."""
    return schema_text(profile(text(name)))


def profile(document: str) -> Profile:
    """Count the classes and properties of the graph in a document (Turtle or N-Triples)."""
    triples = (quad.triple for quad in ox.parse(document, ox.RdfFormat.TURTLE))
    lines = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    assert lines is not None
    # The graph is read twice. Only N-Triples give blank nodes the same labels both times.
    return _profile(lambda: (quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)))


def schema_text(profile: Profile) -> str:
    """Return each class with its number of instances, label and used properties, then the prefixes.

    Each property is followed by the classes of its objects, or datatypes of its literals.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom" .'
    >>> print(schema_text(profile(data)))
    <urn:x:Cat> (instances: 1)
      <urn:x:name> -> xsd:string
    <BLANKLINE>
    PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    """
    return _written(profile, lambda property_, uses: "")  # noqa: ARG005 - nothing is added


def schema_with_counts(profile: Profile) -> str:
    """Like :func:`schema_text`, with the label of each property and its number of triples.

    >>> data = '<urn:x:a> a <urn:x:Cat> . <urn:x:a> <urn:x:name> "Tom", "Tim" .'
    >>> print(schema_with_counts(profile(data)).splitlines()[1])
      <urn:x:name> (triples: 2) -> xsd:string
    """

    def count_and_label(property_: str, uses: int) -> str:
        label = profile.labels.get(property_)
        return f" (triples: {uses}{'' if label is None else f', label: {label}'})"

    return _written(profile, count_and_label)


def void_description(profile: Profile) -> str:
    """Return a VoID description with counts of triples, class instances, and uses of properties."""
    dataset = ox.NamedNode(_DATASET)
    facts = {
        "triples": profile.triples,
        "classes": profile.instances,
        "properties": profile.properties,
    }
    quads = void_totals(dataset, facts) + void_partitions(dataset, facts, f"{_DATASET}:")
    triples = [ox.Triple(dataset, ox.NamedNode(_TYPE), ox.NamedNode(VOID.Dataset))]
    triples += [quad.triple for quad in quads]
    # The serialiser groups only adjacent triples with the same subject.
    triples.sort(key=lambda triple: (triple.subject != dataset, str(triple.subject)))
    prefixes = _Prefixes([*profile.instances, *profile.properties]).prefixes() | {"void": str(VOID)}
    serialised = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    assert serialised is not None
    return serialised.decode("utf-8")


def _profile(read: Callable[[], Iterator[ox.Triple]]) -> Profile:
    profile = Profile()
    # Few combinations of classes occur: subjects share their tuples to save memory.
    combinations: dict[tuple[str, ...], tuple[str, ...]] = {}
    classes: dict[object, tuple[str, ...]] = {}
    for triple in read():
        profile.triples += 1
        predicate = triple.predicate.value
        profile.properties[predicate] += 1
        if predicate == _TYPE and isinstance(triple.object, ox.NamedNode):
            combination = (*classes.get(triple.subject, ()), triple.object.value)
            classes[triple.subject] = combinations.setdefault(combination, combination)
            profile.instances[triple.object.value] += 1
    terms = profile.instances.keys() | profile.properties.keys()
    for triple in read():
        predicate = triple.predicate.value
        if predicate == _LABEL and isinstance(triple.object, ox.Literal):
            subject = getattr(triple.subject, "value", "")
            if subject in terms:
                profile.labels.setdefault(subject, triple.object.value)
        if predicate == _TYPE:
            continue
        ends = _ends(triple.object, classes)
        for of_class in classes.get(triple.subject, ()):
            profile.uses[of_class][predicate] += 1
            profile.ends[of_class, predicate].update(ends)
    return profile


def _ends(term: object, classes: Mapping[object, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(term, ox.Literal):
        return (term.datatype.value,)
    return classes.get(term) or (_UNTYPED,)


def _written(profile: Profile, suffix_of: Callable[[str, int], str]) -> str:
    """Write the schema in lines; ``said`` gives the text after a property and its count."""
    names = _Prefixes([*profile.instances, *(p for uses in profile.uses.values() for p in uses)])
    lines = []
    for of_class in sorted(profile.instances):
        label = profile.labels.get(of_class)
        shown_label = "" if label is None else f", label: {label}"
        lines.append(
            f"{names.short(of_class)} (instances: {profile.instances[of_class]}{shown_label})"
        )
        for property_, uses in sorted(profile.uses.get(of_class, {}).items()):
            ends = ", ".join(
                end if end == _UNTYPED else names.short(end)
                for end in sorted(profile.ends[of_class, property_])
            )
            lines.append(f"  {names.short(property_)}{suffix_of(property_, uses)} -> {ends}")
    return "\n".join([*lines, "", *names.declarations()])


class _Prefixes:
    """Shortens IRIs by usual prefixes, and by a numbered one for each other common namespace."""

    def __init__(self, iris: Iterable[str]) -> None:
        spaces = self._spaces = Counter(_space(iri) for iri in set(iris))
        others = sorted(name for name, times in spaces.items() if times > 1 and name not in _USUAL)
        self._prefixes = _USUAL | {space: f"ns{number + 1}" for number, space in enumerate(others)}
        self._used: set[str] = set()

    def short(self, iri: str) -> str:
        space = _space(iri)
        local = iri[len(space) :]
        if space not in self._prefixes or not local or not _LOCAL.issuperset(local):
            return f"<{iri}>"
        self._used.add(space)
        return f"{self._prefixes[space]}:{local}"

    def prefixes(self) -> dict[str, str]:
        """Return the namespaces of the IRIs by prefix."""
        return {prefix: space for space, prefix in self._prefixes.items() if space in self._spaces}

    def declarations(self) -> list[str]:
        return [f"PREFIX {self._prefixes[space]}: <{space}>" for space in sorted(self._used)]


def _space(iri: str) -> str:
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]
