# SPDX-License-Identifier: Apache-2.0
"""Answers that are mappings: execution, comparison of the produced graphs, and feedback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.families import frame
from kgbench.families.frame import TurtleFamily
from kgbench.mapping.execution import execute_mapping
from kgbench.mapping.limits import MappingError
from kgbench.mapping.sources import Data
from kgbench.mapping.tables import Table
from kgbench.model import Executor, Json, Verdict
from kgbench.policies.blank_nodes import Row, RowComparison, row_texts
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import texts

FOLDER: Final = "mapping-answers"
_PROBE: Final = """
[] <http://www.w3.org/ns/r2rml#logicalTable> [ <http://www.w3.org/ns/r2rml#tableName> "t" ] ;
    <http://www.w3.org/ns/r2rml#subjectMap> [ <http://www.w3.org/ns/r2rml#template> "urn:{a}" ] .
"""
_QUOTED: Final = 5  # triples of each kind that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted


class TurtleAnswer(NamedTuple):
    """The document in an answer and its triples, or ``None`` and the ``error``.

    ``text`` is ``None`` if the answer has no fenced block.
    """

    text: str | None
    triples: tuple[ox.Triple, ...] | None
    error: str | None

    @property
    def feedback(self) -> tuple[str, str]:
        """The feedback on an answer without a document, or one that does not parse; its kind."""
        if self.text is None:
            return texts.shared(TurtleFamily.shared_texts, "feedback-no-block.txt"), "format"
        prompt = texts.shared_filled(
            TurtleFamily.shared_texts, "feedback-syntax.txt", message=self.error or ""
        )
        return prompt, "syntax"


def _read(answer: str, executor: Executor) -> TurtleAnswer:
    """Read the document in an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return TurtleAnswer(None, None, "there is no fenced block in the answer")
    text = blocks[0].body
    parsed = executor.parse(text, "turtle")
    if parsed.triples is None:
        return TurtleAnswer(text, None, parsed.error)
    return TurtleAnswer(text, frame.triples(parsed.triples), None)


class ExecutedMapping(NamedTuple):
    """The graphs that the mapping of an answer makes from each of several data, or its error."""

    read: TurtleAnswer
    rows: Mapping[str, frozenset[Row]]
    error: str | None

    @property
    def scores(self) -> dict[str, float]:
        """Whether the answer parses and executes."""
        return {
            "answerParse": float(self.read.triples is not None),
            "executes": float(self.error is None),
        }

    def infos(self, compared: RowComparison) -> dict[str, Json]:
        """Return errors, and triples that are missing or too many."""
        return {
            "parseError": self.read.error,
            "engineError": None if self.read.triples is None else self.error,
            "missing": _lines(compared.missing)[:_LISTED],
            "surplus": _lines(compared.surplus)[:_LISTED],
        }


def execute_answer(answer: str, executor: Executor, data: Mapping[str, Data]) -> ExecutedMapping:
    """Execute the mapping of an answer on all ``data``; if one fails, all graphs are empty."""
    read = _read(answer, executor)
    nothing = {name: frozenset[Row]() for name in data}
    if read.triples is None:
        return ExecutedMapping(read, nothing, read.error)
    try:
        rows = {name: execute_mapping(read.triples, source) for name, source in data.items()}
    except MappingError as error:
        return ExecutedMapping(read, nothing, str(error))
    return ExecutedMapping(read, rows, None)


def verdict(
    made_graphs: ExecutedMapping,
    answers: Sequence[str],
    scores: Mapping[str, float],
    infos: Mapping[str, Json],
    differences: Callable[[], str] | None,
) -> Verdict:
    """Return the verdict on the last answer, with feedback unless it is right or the last allowed.

    ``differences`` writes the feedback on a wrong graph; it is ``None`` if the graph is right.
    """
    outcome = frame.outcome(answers[-1], usable=made_graphs.error is None)
    if differences is None or len(answers) >= TurtleFamily.rounds:
        return Verdict(scores, infos, outcome)
    if made_graphs.read.triples is None:
        return Verdict(scores, infos, outcome, *made_graphs.read.feedback)
    if made_graphs.error is not None:
        feedback = texts.shared_filled(FOLDER, "feedback-error.txt", message=made_graphs.error)
        return Verdict(scores, infos, outcome, feedback, "syntax")
    return Verdict(scores, infos, outcome, differences(), "content")


def differences(compared: RowComparison) -> str:
    """Return the feedback on a mapping that makes a wrong graph, with some of the wrong triples."""
    _, missing, surplus = compared
    lines = [
        f"* {kind}: {line}"
        for kind, rows in (("missing", missing), ("should not be there", surplus))
        for line in _lines(rows)[:_QUOTED]
    ]
    if len(lines) < len(missing) + len(surplus):
        lines.append("* and more")
    return texts.shared_filled(
        FOLDER, "feedback-differences.txt", examples="\n".join(lines), **counts(compared)
    )


def counts(compared: RowComparison) -> dict[str, str]:
    """Return the numbers of missing and surplus triples, for feedback."""
    return {"missing": str(len(compared.missing)), "surplus": str(len(compared.surplus))}


def _lines(rows: Iterable[Row]) -> list[str]:
    return [line[:_LONGEST] for line in row_texts(rows)]


def file_block(name: str, form: str, text: str) -> str:
    """Return a file in the form that prompts show."""
    return f"{name}:\n```{form}\n{text.removesuffix(chr(10))}\n```"


def fenced(mapping: str) -> str:
    """Return a mapping in the form of an answer."""
    return f"```turtle\n{mapping}\n```"


def prepare() -> None:
    """Let SQLite load its parts, because judging processes cannot open files."""
    mapping = [quad.triple for quad in ox.parse(_PROBE, ox.RdfFormat.TURTLE)]
    execute_mapping(mapping, Data({}, {"t": Table((("a", "TEXT"),), (("b",),))}))
