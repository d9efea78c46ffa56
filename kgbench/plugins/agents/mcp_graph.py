# SPDX-License-Identifier: Apache-2.0
"""Tools over one graph, executed in the killable processes that judge answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.execution.judging import JudgeLimits, ToolRequest, ToolRun, answer_batch
from kgbench.execution.pools import executor
from kgbench.model import Case, Json
from kgbench.plugins.agents import graph_tools
from kgbench.serve.settings import Limits
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tool_calls import Tool, ToolCall, ToolOutcome, ToolResult

_SUITE: Final = "served"
_FORMATS: Final = {".ttl": ox.RdfFormat.TURTLE, ".nt": ox.RdfFormat.N_TRIPLES}
_WAITING: Final = 100  # maximum number of waiting calls
_BUSY: Final = ToolResult("error: too many calls wait: try again later", ToolOutcome.ERROR)


def case_of(name: str) -> Case:
    """Return a case with the graph ``name``: the label of a task with tools, or a file.

    Files are Turtle (``.ttl``) or N-Triples (``.nt``). Raises :class:`~kgbench.errors.TaskError`
    for anything else.
    """
    task = catalogue.labelled_tasks().get(name)
    if task is not None:
        module = catalogue.module(task.task_class)
        if not hasattr(module, "tools"):
            raise TaskError(f"the task {name} has no tools: name one that has, or a file")
        return module.cases(task, _SUITE, 0, 1)[0]
    path = Path(name)
    if path.suffix.lower() not in _FORMATS:
        raise TaskError(
            f"'{name}' is neither the label of a task with tools nor a file ending in .ttl or .nt"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
        for _ in ox.parse(text.encode("utf-8"), _FORMATS[path.suffix.lower()]):
            pass  # report syntax errors now, not at each call
    except (OSError, UnicodeError, SyntaxError, ValueError) as error:
        raise TaskError(f"the graph {name} cannot be read: {error}") from None
    data = {"graphTurtle": text, "tools": graph_tools.tools_as_json()}
    return catalogue.make_case(_SUITE, "Text2SparqlTools", {}, data)


class GraphTools:
    """The tools search, describe, schema and query over the graph of a case."""

    def __init__(self, case: Case, label: str, limits: Limits) -> None:
        self._case = case
        self._limits = JudgeLimits(seconds=limits.seconds, memory_bytes=limits.memory_bytes)
        self._workers = limits.workers
        self._executor: Any = None
        self._waiting = 0
        self.tools: Sequence[Tool] = tuple(
            tool for tool in tool_prompts.tools_of(case) if not tool.ends
        )
        self.instructions = (
            f"Tools over the knowledge graph {label}, which cannot be changed. Look at the schema, "
            "search for names, describe what is found, then query with SPARQL."
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Allow worker processes within this context; all end with it."""
        self._executor = executor(f"local:{self._workers}")
        try:
            yield
        finally:
            await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    async def use(self, name: str, values: Mapping[str, Json]) -> ToolResult:
        """Call a tool in a process with limits of time and memory."""
        if self._waiting >= _WAITING:
            return _BUSY
        self._waiting += 1
        try:
            request = ToolRequest(self._case, ToolCall(name, ""), values)
            work = self._executor.submit(answer_batch, [request], self._limits)
            (used,) = await asyncio.wrap_future(work)
        finally:
            self._waiting -= 1
        assert isinstance(used, ToolRun)
        return used.result
