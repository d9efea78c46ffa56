# SPDX-License-Identifier: Apache-2.0
"""The judging child process, ``python -m kgbench.execution.child``, started by ``judging``.

Its setup names what to load. It loads and tries everything that it may need while files can still
be opened. Then it locks itself down: it can open neither files nor sockets.

Judges are pure functions, so an equal answer to the same case has the same verdict, which the child
remembers: in published runs with twenty dialogues per case, nearly half of the answers are equal to
recent ones.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from kgbench.characters import BOM
from kgbench.children import answering, lockdown
from kgbench.execution import frames, on_variants
from kgbench.execution.engines import InstalledGraphs
from kgbench.execution.engines import engine as make_engine
from kgbench.execution.frames import SharedStatus, WatchedExecutor
from kgbench.model import Case, Executor, Json, Outcome, TaskModule, Verdict
from kgbench.policies import within_rows
from kgbench.policies.policy import Policy, policies
from kgbench.scoring import json_ld
from kgbench.tasks import catalogue, protection, texts, typed_answers
from kgbench.tools.module import ToolModule

_MOST = 128  # remembered verdicts
_LONGEST = 1 << 16  # bytes of a remembered verdict, encoded


_DOCUMENTS = {
    "turtle": '@prefix e: <http://example.org/> .\ne:a e:b 1, 2.5, "x"@en, [] .',
    "ntriples": '<http://example.org/a> <http://example.org/b> "1" .',
    "json-ld": '{"@context": {"b": "http://example.org/b"}, "b": [1, {"@value": "x"}]}',
    "xml": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:e="http://example.org/"><rdf:Description rdf:about="http://example.org/a">'
        "<e:b>1</e:b><e:c rdf:parseType='Literal'><e:d/></e:c></rdf:Description></rdf:RDF>"
    ),
}
_TYPED = (
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    '<http://example.org/a> <http://example.org/b> "<p>x</p>"^^rdf:HTML, "<p/>"^^rdf:XMLLiteral, '
    '"P1D"^^xsd:duration, "2024-01-01"^^xsd:date, "2024-01-01T00:00:00Z"^^xsd:dateTime, '
    '"YQ=="^^xsd:base64Binary, "1.5"^^xsd:decimal .'
)
_QUERIES = (
    "SELECT * WHERE { ?s ?p ?o }",
    (
        "SELECT ?s (COUNT(DISTINCT ?o) AS ?n) (MAX(?o) AS ?m) (GROUP_CONCAT(?o) AS ?g) "
        "WHERE { ?s ?p ?o . FILTER(REGEX(STR(?o), '1', 'i') || ?o > 1) "
        "OPTIONAL { ?s ?q ?r . FILTER NOT EXISTS { ?r ?q ?s } } } "
        "GROUP BY ?s HAVING (COUNT(?o) > 0) ORDER BY DESC(?n) LIMIT 3"
    ),
    (
        "SELECT * WHERE { ?s (<http://example.org/b>|^<http://example.org/c>)* ?o "
        "BIND(REPLACE(STR(?o), 'a', 'b') AS ?x) BIND(SHA256('x') AS ?h) BIND(UUID() AS ?u) "
        "BIND(NOW() AS ?w) BIND(YEAR(NOW()) AS ?y) BIND(RAND() AS ?z) "
        "BIND(ENCODE_FOR_URI('ä') AS ?e) MINUS { ?s <http://example.org/c> 1 } "
        "{ SELECT ?s WHERE { VALUES ?s { <http://example.org/a> UNDEF } } } } ORDER BY ?s"
    ),
)
LOADERS: Mapping[str, Callable[[], None]] = {
    "row matching": within_rows.prepare,
    "PyLD": json_ld.load,
}
"""Optional parts that task classes may name in ``LOADS``."""


def _prepare(setup: Mapping[str, Any]) -> answering.Handler:
    """Load everything that judging needs, and return the handler of requests."""
    lockdown.use_batch_scheduling()
    judge = _Judge(setup)
    logging.disable()

    def handle(request: bytes, send: Callable[[bytes], None]) -> None:
        send(judge.frame(frames.decode(request)))

    return handle


class _Judge:
    """Answers requests, with the loaded modules and the cases received so far, by number."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._engine: Executor = make_engine(setup["engine"], InstalledGraphs(setup["graphs"]))
        warm_engine(self._engine)
        load(setup["loads"])
        self._policy = warm_policies(setup["policy"])
        self._modules: dict[str, TaskModule | str] = {}
        protection.set_key(setup["task_key"])
        texts.read_all_shared()
        for name in setup["classes"]:
            try:
                self._modules[name] = warm_task_class(name)
            except Exception as error:  # noqa: BLE001 - the other classes can still be judged
                self._modules[name] = answering.summary(error)
        protection.set_key(None)
        self._board = SharedStatus(setup["board"])
        self._cases: dict[int, tuple[int, Case]] = {}  # with a serial number; others are reused
        self._received = 0
        self._repeated = _RepeatedAnswers()

    def frame(self, request: Mapping[str, Any]) -> bytes:
        """Return the answer to a request as the payload of a frame; see :meth:`_answer`."""
        if "forget" in request:
            self._cases.clear()
        if "case" in request:
            self._received += 1
            self._cases[request["number"]] = self._received, Case(**request["case"])
        serial, case = self._cases[request["number"]]
        self._board.leave()
        key = _key_of(serial, request)
        known = None if key is None else self._repeated.verdict(key)
        if known is not None:
            return known
        answer = self._answer(case, request)
        frame = _encoded(answer)
        if key is not None and "verdict" in answer:
            self._repeated.remember(key, frame)
        return frame

    def _answer(self, case: Case, request: Mapping[str, Any]) -> dict[str, Json]:
        """Return a verdict, the result of a tool, or an error of the judge, as JSON."""
        module = self._modules.get(case.task_class, "it is not registered")
        if isinstance(module, str):
            return {"error": f"the task class {case.task_class} cannot be used: {module}"}
        executor = WatchedExecutor(self._engine, self._board, request["expired"])
        try:
            if "use" in request:
                return _run_tool(module, case, request, executor)
            verdict = self._verdict(module, case, request, executor)
            return {"verdict": frames.verdict_to_json(_checked(verdict))}
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - panics of pyoxigraph are BaseExceptions
            return {"error": answering.summary(error)}

    def _verdict(
        self, module: TaskModule, case: Case, request: Mapping[str, Any], executor: Executor
    ) -> Verdict:
        """Return the verdict of the task class, or of the policy of this process."""
        answers: Sequence[str] = [answer.removeprefix(BOM) for answer in request["answers"]]
        if on_variants.VARIANTS_KEY in case.data:
            return on_variants.judge(case, answers, executor, module)
        if self._policy is None and "prompts" in request:
            with_tools = cast("ToolModule", module)
            return with_tools.judge_dialogue(case, request["prompts"], answers, executor)
        if self._policy is None:
            return module.judge(case, answers, executor)
        return typed_answers.judge(self._policy, case, answers, executor, module, notes_ties=True)


class _RepeatedAnswers:
    """The encoded verdicts on the latest answers, in bounded memory."""

    def __init__(self) -> None:
        self._verdicts: OrderedDict[bytes, bytes] = OrderedDict()

    def verdict(self, key: bytes) -> bytes | None:
        """Return the encoded verdict on an answer, if it is known."""
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._verdicts.move_to_end(key)
        return verdict

    def remember(self, key: bytes, verdict: bytes) -> None:
        """Keep an encoded verdict, in place of the one that was used least recently."""
        if len(verdict) <= _LONGEST:
            self._verdicts[key] = verdict
            if len(self._verdicts) > _MOST:
                self._verdicts.popitem(last=False)


def _key_of(case: int, request: Mapping[str, Any]) -> bytes | None:
    """Return the key of a request about a case (by serial number); ``None`` if it has none.

    Tools have none, nor answers with a query that exceeded a limit: each try counts on its own.
    """
    if "use" in request or request["expired"]:
        return None
    dialogue = repr((case, request["answers"], request.get("prompts")))  # escapes lone surrogates
    return hashlib.sha256(dialogue.encode("ascii", "backslashreplace")).digest()


def _run_tool(
    module: TaskModule, case: Case, request: Mapping[str, Any], executor: Executor
) -> dict[str, Json]:
    """Run a tool of ``case``; return its result and the seconds that it took."""
    started = time.monotonic()
    result = cast("ToolModule", module).use(case, request["use"], request["arguments"], executor)
    return {"result": result, "seconds": time.monotonic() - started}


def _checked(verdict: Verdict) -> Verdict:
    """Return ``verdict`` with converted types; raises if a score or the outcome is invalid."""
    scores = {str(name): float(value) for name, value in verdict.scores.items()}
    return replace(verdict, scores=scores, outcome=Outcome(verdict.outcome))


def _encoded(message: Json) -> bytes:
    try:
        return frames.encode(message)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        return frames.encode(
            {"error": f"the verdict is not JSON: {error}"[: answering.LONGEST_MESSAGE]}
        )


def warm_engine(engine: Executor) -> None:
    """Parse every format, run queries of every kind, and provoke an error of each kind."""
    for rdf_format, document in _DOCUMENTS.items():
        engine.parse(document, rdf_format)
        engine.parse("<", rdf_format)
    engine.parse(_TYPED, "turtle")
    engine.check("SELECT", {})
    engine.check("SELECT * WHERE { ?s undeclared:x ?o }", {})
    for query in _QUERIES:
        engine.check(query, {})
        engine.select(query, _TYPED, {})
    engine.results("ASK { ?s ?p ?o }", _TYPED, {})
    engine.select("SELECT * WHERE { ?s undeclared:x ?o }", _TYPED, {})


def load(names: Iterable[str]) -> None:
    """Load slow optional parts that few task classes need, by their names in :data:`LOADERS`."""
    for name in names:
        LOADERS[name]()


def warm_policies(name: str | None) -> Policy | None:
    """Return the comparison policy called ``name``, if any, and read all declared policies."""
    known = policies()
    return None if name is None else known[name]


def warm_task_class(name: str) -> TaskModule:
    """Load the module of a task class, its declaration and the texts beside it.

    A module that reads other resources when judging has a function ``prepare()`` to load them. One
    that judges by the code of another class names that class as ``JUDGED_AS``.
    """
    module = catalogue.module(name)
    texts.read_all(catalogue.folder(name))
    judged_as = getattr(module, "JUDGED_AS", None)
    if judged_as is not None:
        warm_task_class(judged_as)
    prepare = getattr(module, "prepare", None)
    if prepare is not None:
        prepare()
    return module


if __name__ == "__main__":
    answering.answer(_prepare, opens_files=False)
