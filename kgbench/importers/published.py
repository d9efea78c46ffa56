# SPDX-License-Identifier: Apache-2.0
"""Records of LLM-KG-Bench -> cases, and evaluations with their scores and infos.

Generations 2 and 3 publish the data of a case as ``taskData``, which is stored under the same keys.
For ``Text2SparqlExecEvalListCoypuMini`` with ``kgInfoType`` ``graph``, the graph printed in the
prompt is added under the key ``graph``, because queries are executed on it and it is published
nowhere else. Other printed graphs are left out: each prompt prints their triples (JSON-LD, RDF/XML,
N-Triples) in a new order, which would make one case look like many.

Generation 1 publishes no task data. What the judges need is derived from the infos by the rules of
the published tasks, under the keys of later generations. If a rule changed between versions of a
task class, the case states which one applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from kgbench.importers.metrics import MetricNames, declared_class, range_error
from kgbench.importers.records import Record, Scores, round_number
from kgbench.model import Dialogue, Evaluation, Json, Outcome, Turn
from kgbench.record.recorder import Recorder

_ERRORS = "TurtleErrorsStatic"
_CONNECTION = "TurtleConnectionExplainStatic"
_COYPU = "Text2SparqlExecEvalListCoypuMini"
_TURTLE_BLOCK = re.compile(r"```turtle[ \t]*\n(.*?)\n?```", re.DOTALL)
_NODE = re.compile(r"(.*?person-)(0*)([1-9][0-9]*)")
_SIZES = {"SyntheticDatasetGeneration": "n_persons", "TurtleFriendCount": "persons"}


def case_data(record: Record, corrected: Mapping[str, str]) -> dict[str, Json]:
    """Return the task data of the case as the judge of its task class reads them.

    ``corrected`` has the graphs that :func:`note_corrected_graph` collected from all records of the
    file.
    """
    if record.generation == 1:
        return _first_generation(record, corrected)
    data = dict(record.data)
    if _has_printed_graph(record.task_class, data) and "graph" not in data:
        match = _TURTLE_BLOCK.search(record.exchanges[0].prompt)
        if match is not None:
            data["graph"] = match.group(1)
    return data


def without_printed_graph(
    task_class: str, data: Mapping[str, Json], prompt: str
) -> dict[str, Json]:
    """Remove the graph that :func:`case_data` added from the first prompt."""
    match = _TURTLE_BLOCK.search(prompt)
    printed = None if match is None else match.group(1)
    if _has_printed_graph(task_class, data) and data.get("graph") == printed:
        return {name: value for name, value in data.items() if name != "graph"}
    return dict(data)


def _has_printed_graph(task_class: str, data: Mapping[str, Json]) -> bool:
    return task_class == _COYPU and data.get("kgInfoType") == "graph"


def note_corrected_graph(record: Record, corrected: dict[str, str]) -> None:
    """Add the corrected form of a record's faulty graph to ``corrected``, if it can be derived.

    For ``TurtleErrorsStatic`` in generation 1, the infos have a diff between the corrected graph
    and the answer; undoing it on the answer gives the corrected graph. This fails for answers with
    other text around the Turtle, so a result is accepted only if its similarity to the faulty graph
    is the recorded one.
    """
    if record.generation != 1 or record.task_class != _ERRORS:
        return
    faulty = _faulty_graph(record)
    diff = record.infos.get("diff")
    if faulty in corrected or not isinstance(diff, str):
        return
    fixed = undo(diff, record.exchanges[-1].answer.strip())
    if fixed is not None and SequenceMatcher(
        None, faulty.strip(), fixed.strip()
    ).ratio() == record.infos.get("diffRatioQuestion"):
        corrected[faulty] = fixed


def case_uid(data: Mapping[str, Json]) -> str | None:
    """Return the published name of a case, or ``None``."""
    for key in ("uid", "taskUid"):
        if isinstance(data.get(key), str) and data[key]:
            return str(data[key])
    return None


def parameters(record: Record) -> dict[str, Json]:
    """Return the parameters of the case; in generation 1 only ``size`` (persons), if recorded."""
    if record.generation > 1:
        return dict(record.parameters)
    size = record.infos.get(_SIZES.get(record.task_class, ""))
    return {"size": size} if _is_count(size) else {}


def problem_size(record: Record) -> int | None:
    """Return the size of the task by ``taskSizeInfo``, in characters of its graph, or ``None``."""
    size_info = record.raw.get("taskSizeInfo")
    size: int | None = size_info.get("targetSize") if isinstance(size_info, dict) else None
    return size if _is_count(size) else None


def label(record: Record) -> str:
    """Return the published task label; for records without one, the task class.

    In generation 1 the size is appended, if the infos have one.
    """
    if record.label is not None:
        return record.label
    if record.generation > 1:
        return record.task_class
    return "-".join([record.task_class, *map(str, parameters(record).values())])


def _first_generation(record: Record, corrected: Mapping[str, str]) -> dict[str, Json]:
    data: dict[str, Json] = {"graphFormat": "turtle"}
    if record.task_class == _CONNECTION and not record.version.startswith("1."):
        data |= {"precisionOfNoNames": 1.0}
    elif record.task_class == "TurtleFriendCount":
        data |= _friend_count(record.infos)
    elif record.task_class == "SyntheticDatasetGeneration":
        n = record.infos.get("n_persons")
        data |= {"n": n} if _is_count(n) else {}
    elif record.task_class == _ERRORS:
        faulty = _faulty_graph(record)
        data |= {"task": faulty}
        data |= {"optimal": corrected[faulty]} if faulty in corrected else {}
    return data


def _friend_count(infos: Mapping[str, Json]) -> dict[str, Json]:
    """Derive the parameters of the generated graph, and the friends of its special node.

    Each of the n persons knows ``knowsCount`` others, and ``specialAddKnowsCount`` more know the
    special one; the graph has n type triples and one triple for each of these. The additional
    friends are numbered from special + knowsCount + 1, without wrap-around at n.
    """
    n: Json = infos.get("persons")
    triples: Json = infos.get("triples")
    special: Json = infos.get("specialNode")
    node = _NODE.fullmatch(special) if isinstance(special, str) else None
    if node is None or not _is_count(n) or not _is_count(triples) or triples < n:
        return {}
    prefix, zeros, number = node.groups()
    knows, additional = divmod(triples - n, n)
    first = int(number) + knows + 1
    width = len(zeros) + len(number)
    local = prefix.rpartition("/")[2]
    return {
        "n": n,
        "knowsCount": knows,
        "specialIndex": int(number) - 1,
        "specialAddKnowsCount": additional,
        "specialNodeIri": special,
        "specialFriends": [f"{local}{k:0{width}d}" for k in range(first, first + additional)],
    }


def _faulty_graph(record: Record) -> str:
    """Return the graph in the prompt, after the instruction and an empty line."""
    return record.exchanges[0].prompt.partition("\n\n")[2]


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def undo(diff: str, after: str) -> str | None:
    r"""Return the text that ``diff`` changed into ``after``, or ``None`` if they do not match.

    ``diff`` is as Python's :mod:`difflib` gives it for lines without line ends, joined by
    ``"\n"`` (so that the header lines, which do end in one, are followed by an empty line).

    >>> undo("--- a\n\n+++ b\n\n@@ -1,2 +1,2 @@\n\n-one\n+ONE\n two", "ONE\ntwo\nthree")
    'one\ntwo\nthree'
    """
    new = after.splitlines()
    old: list[str] = []
    position = 0
    lines = iter(diff.split("\n"))
    for line in lines:
        header = _HUNK.fullmatch(line)
        if header is None:
            continue
        next(lines, None)  # the empty line after the header
        removed, start, added = (int(group) for group in header.groups("1"))
        begin = start if added == 0 else start - 1
        if begin < position or begin > len(new):
            return None
        old += new[position:begin]
        hunk = _hunk(lines, removed, added)
        if hunk is None or new[begin : begin + len(hunk[1])] != hunk[1]:
            return None
        old += hunk[0]
        position = begin + len(hunk[1])
    return "\n".join(old + new[position:])


def _hunk(lines: Iterator[str], removed: int, added: int) -> tuple[list[str], list[str]] | None:
    """Read a hunk of ``removed`` old and ``added`` new lines, or return ``None`` if malformed."""
    old: list[str] = []
    new: list[str] = []
    while len(old) < removed or len(new) < added:
        line = next(lines, None)
        if not line:
            return None
        if line[0] not in " -+":
            return None
        if line[0] in " -":
            old.append(line[1:])
        if line[0] in " +":
            new.append(line[1:])
    return old, new


_UNJUDGED = Outcome.EVALUATOR_ERROR  # without scores: the evaluation was aborted
_SYNTAX = ("parsableSyntax", "answerParse")
_CONVERTED = frozenset(
    ("startTime", "duration", "modelId", "taskInfo", "taskData", "scores", "info", "interactions")
)
_CONVERTED_OF_TASK = frozenset(
    ("taskId", "taskLabel", "version", "gitCommit", "taskParameter", "condensedTaskData")
)


def evaluations(
    record: Record, dialogue: Dialogue, recorder: Recorder, metrics: MetricNames
) -> tuple[Evaluation, ...]:
    """Return the published evaluations of a dialogue: of its answers, then of the dialogue."""
    others = _unconverted_fields(record)
    if record.missing:
        others["missingScores"] = dict(record.missing)
    published = {"published": others} if others else {}
    k = len(record.exchanges) - 1
    flat = record.flat
    if flat is not None and (flat or record.missing or _has_one_answer(record)):
        return (
            Evaluation(
                iri=recorder.evaluation_iri(dialogue.iri, k),
                dialogue=dialogue.iri,
                round=k,
                outcome=_outcome(dialogue.turns[k], flat),
                scores=_by_metric(record, flat, metrics),
                infos={**record.infos, **published},
            ),
        )
    nested = {str(k): {}} if record.nested is None else record.nested
    rounds = sorted(k for k in map(round_number, nested) if k is not None)
    results = [
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, k),
            dialogue=dialogue.iri,
            round=k,
            outcome=_outcome(dialogue.turns[k], nested[str(k)]),
            scores=_by_metric(record, nested[str(k)], metrics),
            infos=_round_infos(record, k),
        )
        for k in rounds
    ]
    dialogue_scores: dict[str, float] = {}
    for group, scores in nested.items():
        if round_number(group) is None:
            dialogue_scores |= _by_metric(record, scores, metrics, group)
    results.append(
        Evaluation(
            iri=recorder.evaluation_iri(dialogue.iri, None),
            dialogue=dialogue.iri,
            round=None,
            outcome=_dialogue_outcome(results, dialogue_scores),
            scores=dialogue_scores,
            infos={**_dialogue_infos(record, rounds), **published},
        )
    )
    return tuple(results)


def within_ranges(record: Record) -> Record:
    """Move the scores outside the range that their metric declares to the ``missing`` ones."""
    declared = declared_class(record.task_class, record.version)
    if declared is None:
        return record
    missing = dict(record.missing)

    def inside(scores: Scores, field: str, prefix: str = "") -> Scores:
        errors = {
            name: range_error(declared.metrics.get(f"{prefix}{name}"), value)
            for name, value in scores.items()
        }
        missing.update({f"{field}.{name}": why for name, why in errors.items() if why is not None})
        return {name: value for name, value in scores.items() if errors[name] is None}

    flat = None if record.flat is None else inside(record.flat, "scores")
    nested = (
        None
        if record.nested is None
        else {
            group: inside(
                scores, f"scores.{group}", "" if round_number(group) is not None else f"{group}_"
            )
            for group, scores in record.nested.items()
        }
    )
    return replace(record, flat=flat, nested=nested, missing=missing)


def _has_one_answer(record: Record) -> bool:
    """Return whether a record without any scores is surely one of a task with a single answer."""
    declared = declared_class(record.task_class, record.version)
    return declared is not None and declared.max_rounds == 1


def feedback_after(scores: Scores) -> str | None:
    """Return the kind of feedback that the framework gives to an answer with ``scores``.

    It is the first fault in the order of the framework's checks: syntax, content, formatting of an
    RDF document; syntax or an empty result of a query. ``None`` for other tasks.
    """
    if any(scores.get(name) == 0 for name in _SYNTAX):
        return "syntax"
    if "answerParse" in scores:
        return "empty-result"
    if "parsableSyntax" in scores:
        return "content" if scores.get("contentF1") != 1 else "format"
    return None


def _by_metric(
    record: Record, scores: Scores, metrics: MetricNames, aggregation: str | None = None
) -> dict[str, float]:
    task_class, version = record.task_class, record.version
    return {
        metrics.iri(task_class, version, name, aggregation): value for name, value in scores.items()
    }


def _outcome(turn: Turn, scores: Scores) -> Outcome:
    """Derive the outcome of an answer from the published scores."""
    if not scores:
        return _UNJUDGED
    if not (turn.answer or "").strip():
        return Outcome.EMPTY
    unparsable = any(scores.get(name) == 0 for name in _SYNTAX)
    return Outcome.UNPARSABLE if unparsable else Outcome.SCORED


def _dialogue_outcome(answers: Sequence[Evaluation], scores: Scores) -> Outcome:
    """Return the outcome of the last answer, or if the dialogue has scores, the last judged one."""
    relevant = [answer for answer in answers if answer.scores or not scores]
    if relevant:
        return relevant[-1].outcome
    return Outcome.SCORED if scores else _UNJUDGED


def _round_infos(record: Record, k: int) -> Mapping[str, Json]:
    infos = record.infos.get(str(k))
    return infos if isinstance(infos, dict) else {}


def _dialogue_infos(record: Record, rounds: list[int]) -> dict[str, Json]:
    """Return the infos of the dialogue: all but those of rounds and a ``last`` that repeats one."""
    round_keys = {str(k) for k in rounds if isinstance(record.infos.get(str(k)), dict)}
    infos = {key: value for key, value in record.infos.items() if key not in round_keys}
    if rounds and infos.get("last") == record.infos.get(str(rounds[-1])):
        infos.pop("last", None)
    return infos


def _unconverted_fields(record: Record) -> dict[str, Json]:
    """Return the fields of a record that are not converted to anything else."""
    raw = record.raw
    task = raw["taskInfo"]
    fields = {key: raw[key] for key in raw.keys() - _CONVERTED if raw[key] is not None}
    fields |= {key: task[key] for key in task.keys() - _CONVERTED_OF_TASK if task[key] is not None}
    condensed = task.get("condensedTaskData")
    if condensed is not None and condensed != raw.get("taskData"):
        fields["condensedTaskData"] = condensed
    return fields
