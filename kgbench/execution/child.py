# SPDX-License-Identifier: Apache-2.0
"""The judging child process, ``python -m kgbench.execution.child``, started by ``process``.

It reads requests from standard input and writes answers to standard output, in frames. The first
frame names what to load. When everything is loaded, the process locks itself down: it can open
neither files nor sockets, so that hostile input can only harm the process itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from kgbench.characters import BOM
from kgbench.children import lockdown
from kgbench.children.endings import OUT_OF_MEMORY
from kgbench.execution import frames, on_variants
from kgbench.execution.engines import engine as make_engine
from kgbench.execution.graphs import InstalledGraphs
from kgbench.execution.repeated import RepeatedAnswers, key_of
from kgbench.execution.shared_status import SharedStatus
from kgbench.execution.warming import load, warm_engine, warm_policies, warm_task_class
from kgbench.execution.watched import WatchedExecutor
from kgbench.model import Case, Executor, Json, Outcome, TaskModule, Verdict
from kgbench.tasks import keys, texts, typed_answers
from kgbench.tools.module import ToolModule

_LONGEST_MESSAGE = 1_000


def main() -> None:
    """Serve until standard input ends."""
    requests, answers = _own_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    setup = frames.read(requests)
    if setup is None:
        return
    lockdown.die_with_parent(setup["parent"])
    lockdown.use_batch_scheduling()
    try:
        judge = _Judge(setup)
    except BaseException as error:  # noqa: BLE001 - reported by the parent
        _write(answers, _encoded({"failed": _summary(error)}))
        return
    logging.disable()
    lockdown.lock_down(setup["memory_bytes"])
    _write(answers, _encoded({"ready": True}))
    with contextlib.suppress(BrokenPipeError):  # the parent has closed the pipe
        try:
            while (request := frames.read(requests)) is not None:
                _write(answers, judge.frame(request))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


class _Judge:
    """Answers requests, with the loaded modules and the cases received so far, by number."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._engine: Executor = make_engine(setup["engine"], InstalledGraphs(setup["graphs"]))
        warm_engine(self._engine)
        load(setup["loads"])
        self._policy = warm_policies(setup["policy"])
        self._modules: dict[str, TaskModule | str] = {}
        keys.set_key(setup["task_key"])
        texts.read_all_shared()
        for name in setup["classes"]:
            try:
                self._modules[name] = warm_task_class(name)
            except Exception as error:  # noqa: BLE001 - the other classes can still be judged
                self._modules[name] = _summary(error)
        keys.set_key(None)
        self._board = SharedStatus(setup["board"])
        self._cases: dict[int, tuple[int, Case]] = {}  # with a serial number; others are reused
        self._received = 0
        self._repeated = RepeatedAnswers()

    def frame(self, request: Mapping[str, Any]) -> bytes:
        """Return the answer to a request as a frame; see :meth:`_answer`."""
        if "forget" in request:
            self._cases.clear()
        if "case" in request:
            self._received += 1
            self._cases[request["number"]] = self._received, frames.case_from_json(request["case"])
        serial, case = self._cases[request["number"]]
        self._board.leave()
        key = key_of(serial, request)
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
            return {"error": _summary(error)}

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


def _run_tool(
    module: TaskModule, case: Case, request: Mapping[str, Any], executor: Executor
) -> dict[str, Json]:
    """Run a tool of ``case``; return its result and the seconds that it took."""
    started = time.monotonic()
    result = cast("ToolModule", module).use(case, request["use"], request["arguments"], executor)
    return {"result": frames.result_to_json(result), "seconds": time.monotonic() - started}


def _checked(verdict: Verdict) -> Verdict:
    """Return ``verdict`` with converted types; raises if a score or the outcome is invalid."""
    scores = {str(name): float(value) for name, value in verdict.scores.items()}
    return replace(verdict, scores=scores, outcome=Outcome(verdict.outcome))


def _encoded(message: Json) -> bytes:
    try:
        return frames.encode(message)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        return frames.encode({"error": f"the verdict is not JSON: {error}"[:_LONGEST_MESSAGE]})


def _write(stream: BinaryIO, frame: bytes) -> None:
    stream.write(frame)
    stream.flush()


def _summary(error: BaseException) -> str:
    """Return type, message and position of an error, without values of variables."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    position = f" ({Path(frame[0].filename).name}, line {frame[0].lineno})" if frame else ""
    return f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE] + position


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent, and detach standard input and output from them."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    sys.stderr = sys.stdout
    return os.fdopen(requests, "rb", buffering=1 << 16), os.fdopen(answers, "wb", buffering=1 << 16)


if __name__ == "__main__":
    main()
