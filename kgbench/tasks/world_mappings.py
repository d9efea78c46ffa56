# SPDX-License-Identifier: Apache-2.0
"""RmlMappingWorld: write the mapping that makes a graph of files or tables about a world.

Sources, descriptions and graphs follow from the seed of the plan (:mod:`kgbench.worlds.mappings`).
A mapping is executed on the sources that were shown and on others, which tell of other things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import pyoxigraph as ox

from kgbench.mapping.execution import executed
from kgbench.mapping.limits import MappingError
from kgbench.mapping.sources import Data
from kgbench.mapping.tables import Table
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.on_demand import OnDemand
from kgbench.policies.blank_nodes import Compared, Row, compare_rows
from kgbench.tasks import catalogue, serialising, texts, turtle_answers, world_questions
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds import generator, mappings
from kgbench.worlds.generator import World
from kgbench.worlds.mapping_parts import CSV, JSON, TABLE, XML
from kgbench.worlds.mapping_writing import as_sql
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.writing import TARGET

NAME: Final = "RmlMappingWorld"
SHOWN, HIDDEN = "shown", "hidden"
_PREFIXES: Final = {
    "w": NAMESPACE,
    "t": TARGET,
    "owl": str(OWL),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}
_FORMULATIONS: Final = {CSV: "CSV", JSON: "JSONPath", XML: "XPath"}
_PROBE: Final = """
[] <http://www.w3.org/ns/r2rml#logicalTable> [ <http://www.w3.org/ns/r2rml#tableName> "t" ] ;
    <http://www.w3.org/ns/r2rml#subjectMap> [ <http://www.w3.org/ns/r2rml#template> "urn:{a}" ] .
"""
_QUOTED: Final = 5  # triples of each kind that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different sources about the world of a seed.

    Raises :class:`~kgbench.errors.TaskError` where the world is too small for so many, once the
    first that is too much is asked for.
    """
    chosen = task.parameters
    world = world_questions.world_of(task, seed)
    sheet = mappings.sheet(world, chosen["level"], chosen["format"])

    def generated(iteration: int) -> Case:
        exercise = sheet.exercise(iteration)
        shown, hidden = exercise.expected
        data = {
            "words": list(exercise.words),
            "schema": _schema(world, tuple(exercise.extra.items())),
            SHOWN: exercise.shown,
            HIDDEN: exercise.hidden,
            "expected": {SHOWN: [list(row) for row in shown], HIDDEN: [list(r) for r in hidden]},
            "mapping": exercise.mapping,
            "features": list(exercise.features),
        }
        return catalogue.make_case(suite, NAME, chosen, data)

    return OnDemand(count, generated)


@lru_cache(maxsize=4)
def _schema(world: World, extra: tuple[tuple[str, str], ...]) -> str:
    """The schema of a world with further properties, as Turtle."""
    lines = list(generator.schema(generator.made(world)))
    for iri, label in extra:
        lines.append(f"<{iri}> <{RDF.type}> <{RDF.Property}> .")
        lines.append(f'<{iri}> <{RDFS.label}> "{label}"@en .')
    return serialising.serialise(turtle_answers.triples(tuple(lines)), "turtle", _PREFIXES)


def prompt(case: Case) -> str:
    """The sources, what to make of them, and the schema."""
    form = case.parameters["format"]
    shown = {
        "words": "\n".join(f"* {line}" for line in case.data["words"]),
        "schema": case.data["schema"],
        "sources": "\n\n".join(_shown(form, name, of) for name, of in case.data[SHOWN].items()),
    }
    if form == TABLE:
        return texts.filled(NAME, "prompt-tables.txt", **shown)
    return texts.filled(NAME, "prompt-files.txt", formulation=_FORMULATIONS[form], **shown)


def _shown(form: str, name: str, source: Any) -> str:
    if form == TABLE:
        return f"```sql\n{as_sql(name, source)}\n```"
    return f"{name}:\n```{form}\n{source.removesuffix(chr(10))}\n```"


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Execute the mapping of the last answer on both kinds of data; ask again where they differ."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    made = {name: frozenset[Row]() for name in (SHOWN, HIDDEN)}
    error = read.error
    if read.triples is not None:
        try:
            made = {name: executed(read.triples, _data(case, name)) for name in made}
        except MappingError as refused:
            error = str(refused)
    compared = {
        name: compare_rows((tuple(row) for row in case.data["expected"][name]), rows)
        for name, rows in made.items()
    }
    exact = all(not one.missing and not one.surplus for one in compared.values())
    scores = {
        "answerParse": float(read.triples is not None),
        "executes": float(error is None),
        **compared[HIDDEN].agreement.named(),
        **compared[SHOWN].agreement.named(SHOWN, f1="F1"),
        "exact": float(exact),
    }
    infos: dict[str, Json] = {
        "parseError": read.error,
        "engineError": None if read.triples is None else error,
        "missing": _lines(compared[SHOWN].missing)[:_LISTED],
        "surplus": _lines(compared[SHOWN].surplus)[:_LISTED],
    }
    outcome = turtle_answers.outcome(answer, usable=error is None)
    if exact or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    if read.triples is None:
        return Verdict(scores, infos, outcome, *read.feedback)
    if error is not None:
        said = texts.filled(NAME, "feedback-error.txt", message=error)
        return Verdict(scores, infos, outcome, said, "syntax")
    return Verdict(scores, infos, outcome, _differences(compared), "content")


def _data(case: Case, name: str) -> Data:
    """The sources of a case, as mappings read them."""
    sources = case.data[name]
    if case.parameters["format"] != TABLE:
        return Data(sources, {})
    return Data({}, {table: _table(of) for table, of in sources.items()})


def _table(of: Mapping[str, Any]) -> Table:
    return Table(
        tuple((column, kind) for column, kind in of["columns"]),
        tuple(tuple(row) for row in of["rows"]),
    )


def _differences(compared: Mapping[str, Compared]) -> str:
    """The feedback about a mapping that makes another graph."""
    _, missing, surplus = compared[SHOWN]
    if not missing and not surplus:
        _, missing, surplus = compared[HIDDEN]
        counts = {"missing": str(len(missing)), "surplus": str(len(surplus))}
        return texts.filled(NAME, "feedback-hidden.txt", **counts)
    lines = [
        f"* {what}: {line}"
        for what, rows in (("missing", missing), ("should not be there", surplus))
        for line in _lines(rows)[:_QUOTED]
    ]
    if len(lines) < len(missing) + len(surplus):
        lines.append("* and more")
    counts = {"missing": str(len(missing)), "surplus": str(len(surplus))}
    return texts.filled(NAME, "feedback-differences.txt", examples="\n".join(lines), **counts)


def _lines(rows: Iterable[Row]) -> list[str]:
    """Rows as text, blank nodes without their labels."""
    found = (
        " ".join("_:" if cell.startswith("_:") else cell for cell in row if cell is not None)
        for row in rows
    )
    return [line[:_LONGEST] for line in sorted(found)]


def reference(case: Case) -> str:
    """The mapping from which nothing is missing."""
    return f"```turtle\n{case.data['mapping']}\n```"


check = world_questions.check


def prepare() -> None:
    """Read the feedback prompts, and let SQLite do all that it loads something for."""
    turtle_answers.prepare()
    mapping = [quad.triple for quad in ox.parse(_PROBE, ox.RdfFormat.TURTLE)]
    executed(mapping, Data({}, {"t": Table((("a", "TEXT"),), (("b",),))}))
