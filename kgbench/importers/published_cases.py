# SPDX-License-Identifier: Apache-2.0
"""What the records of LLM-KG-Bench say of the case that a dialogue was about.

Generations 2 and 3 publish it as ``taskData``. It is taken over whole, under the same keys. For
``Text2SparqlExecEvalListCoypuMini`` with ``kgInfoType`` ``graph`` the graph that is printed in the
prompt comes in addition, under the key ``graph``, because queries are run on it and nothing else
published holds it. Other printed graphs are left out: their triples are printed in a new order in
each prompt (JSON-LD, RDF/XML, N-Triples), and they would make one case look like many.

Generation 1 publishes no task data. What the judges need of it is derived from the infos by the
rules of the published tasks, under the keys that later generations use. Where a rule has changed
between versions of a task class, the case says which it was judged by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher

from kgbench.importers.records import Record
from kgbench.importers.unified_diff import undo
from kgbench.model import Json

_ERRORS = "TurtleErrorsStatic"
_CONNECTION = "TurtleConnectionExplainStatic"
_COYPU = "Text2SparqlExecEvalListCoypuMini"
_TURTLE_BLOCK = re.compile(r"```turtle[ \t]*\n(.*?)\n?```", re.DOTALL)
_NODE = re.compile(r"(.*?person-)(0*)([1-9][0-9]*)")
_SIZES = {"SyntheticDatasetGeneration": "n_persons", "TurtleFriendCount": "persons"}


def case_data(record: Record, corrected: Mapping[str, str]) -> dict[str, Json]:
    """The task data of the case, as the judge of its task class reads them.

    ``corrected`` is what :func:`note_corrected_graph` finds in all records of the file.
    """
    if record.generation == 1:
        return _first_generation(record, corrected)
    data = dict(record.data)
    if _has_printed_graph(record.task_class, data) and "graph" not in data:
        found = _TURTLE_BLOCK.search(record.exchanges[0].prompt)
        if found is not None:
            data["graph"] = found.group(1)
    return data


def without_printed_graph(
    task_class: str, data: Mapping[str, Json], prompt: str
) -> dict[str, Json]:
    """Task data without the graph that :func:`case_data` takes from the first prompt."""
    found = _TURTLE_BLOCK.search(prompt)
    printed = None if found is None else found.group(1)
    if _has_printed_graph(task_class, data) and data.get("graph") == printed:
        return {name: value for name, value in data.items() if name != "graph"}
    return dict(data)


def _has_printed_graph(task_class: str, data: Mapping[str, Json]) -> bool:
    return task_class == _COYPU and data.get("kgInfoType") == "graph"


def note_corrected_graph(record: Record, found: dict[str, str]) -> None:
    """Note in ``found`` the corrected form of a record's faulty graph, where the record tells it.

    That is so for ``TurtleErrorsStatic`` in generation 1: the infos hold the difference between the
    corrected graph and the answer; undoing it on the answer gives the corrected graph. That fails
    for answers with other text around the Turtle, so a result counts only where its similarity to
    the faulty graph is the recorded one.
    """
    if record.generation != 1 or record.task_class != _ERRORS:
        return
    task = _faulty_graph(record)
    diff = record.infos.get("diff")
    if task in found or not isinstance(diff, str):
        return
    optimal = undo(diff, record.exchanges[-1].answer.strip())
    if optimal is not None and SequenceMatcher(
        None, task.strip(), optimal.strip()
    ).ratio() == record.infos.get("diffRatioQuestion"):
        found[task] = optimal


def case_uid(data: Mapping[str, Json]) -> str | None:
    """The published name of a case, where it has one."""
    for key in ("uid", "taskUid"):
        if isinstance(data.get(key), str) and data[key]:
            return str(data[key])
    return None


def parameters(record: Record) -> dict[str, Json]:
    """The parameters of the case; in generation 1 the ``size`` (persons) where one is recorded."""
    if record.generation > 1:
        return dict(record.parameters)
    size = record.infos.get(_SIZES.get(record.task_class, ""))
    return {"size": size} if _is_count(size) else {}


def problem_size(record: Record) -> int | None:
    """The size that the task was given by ``taskSizeInfo``, in characters of its graph."""
    asked = record.raw.get("taskSizeInfo")
    size: int | None = asked.get("targetSize") if isinstance(asked, dict) else None
    return size if _is_count(size) else None


def label(record: Record) -> str:
    """The published task label; in 2023 the task class.

    In generation 1 the size follows, where there is one: it is published among the infos.
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
        task = _faulty_graph(record)
        data |= {"task": task}
        data |= {"optimal": corrected[task]} if task in corrected else {}
    return data


def _friend_count(infos: Mapping[str, Json]) -> dict[str, Json]:
    """The counts from which the published graph was generated, and the friends of the special node.

    n persons know ``knowsCount`` others each, and ``specialAddKnowsCount`` more know the special
    one: n type triples and that many knows triples. The additional friends are numbered from
    special + knowsCount + 1 on, without wrap-around at n.
    """
    n: Json = infos.get("persons")
    triples: Json = infos.get("triples")
    special: Json = infos.get("specialNode")
    node = _NODE.fullmatch(special) if isinstance(special, str) else None
    if node is None or not _is_count(n) or not _is_count(triples) or triples < n:
        return {}
    prefix, zeros, number = node.groups()
    knows, add = divmod(triples - n, n)
    first = int(number) + knows + 1
    width = len(zeros) + len(number)
    local = prefix.rpartition("/")[2]
    return {
        "n": n,
        "knowsCount": knows,
        "specialIndex": int(number) - 1,
        "specialAddKnowsCount": add,
        "specialNodeIri": special,
        "specialFriends": [f"{local}{k:0{width}d}" for k in range(first, first + add)],
    }


def _faulty_graph(record: Record) -> str:
    """The graph that follows the instruction, after an empty line, in a prompt."""
    return record.exchanges[0].prompt.partition("\n\n")[2]


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
