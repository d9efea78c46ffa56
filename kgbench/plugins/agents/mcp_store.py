# SPDX-License-Identifier: Apache-2.0
"""Tools over a result store: leaderboard, dialogues, and SPARQL.

Queries run in the workers of the endpoint, analyses in those of the pages, with the same limits.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kgbench.api import Json, Outcome, PageRefused, Tool, ToolResult
from kgbench.execution.query_terms import unknown_terms
from kgbench.plugins.agents.graph_tools import arguments_schema
from kgbench.rdf import queries
from kgbench.serve.analysis_pages import AnalysisCache
from kgbench.serve.dialogue_lists import DialogueSearch
from kgbench.serve.service import Service
from kgbench.tool_calls import ToolOutcome
from kgbench.vocab import PREFIXES

ROWS: Final = 100
"""Maximum number of rows, triples or dialogues in a result."""
_BYTES: Final = 1 << 18  # bytes of an answer that are read; results are shorter
_TEXT: Final = {"type": "string", "maxLength": 500}
_WORDS: Final[Mapping[str, Json]] = {
    "suite": "Suite of the benchmark, by name; default: the first of the store.",
    "text": "Only dialogues with this text in an answer.",
    "model": "Only this model: a name, or a pattern such as *gpt*.",
    "task": "Only this task: a label, or a pattern such as Rdf*.",
    "outcome": "Only dialogues with an answer of this outcome.",
    "below": "Only dialogues with a main score below this.",
    "page": f"Which page of {ROWS // 2} dialogues, counted from 1.",
}


def _object(required: Sequence[str], **properties: Mapping[str, Json]) -> dict[str, Json]:
    words = {name: {"description": _WORDS[name]} for name in properties if name in _WORDS}
    described = {name: {**schema, **words.get(name, {})} for name, schema in properties.items()}
    return arguments_schema(required, **described)


TOOLS: Final = (
    Tool(
        "leaderboard",
        "Rank the models by their combined score, with intervals. A Markdown table.",
        _object([], suite=_TEXT, model=_TEXT, task=_TEXT),
    ),
    Tool(
        "search_dialogues",
        "Find judged dialogues, the lowest scores first: IRI, task, model, outcome, score.",
        _object(
            [],
            text=_TEXT,
            model=_TEXT,
            task=_TEXT,
            outcome={"type": "string", "enum": [outcome.value for outcome in Outcome]},
            below={"type": "number"},
            suite=_TEXT,
            page={"type": "integer", "minimum": 1, "maximum": 1_000_000},
        ),
    ),
    Tool(
        "show_dialogue",
        "Show one dialogue: prompts, answers, tool calls and verdicts, as JSON.",
        _object(["dialogue"], dialogue=_TEXT),
    ),
    Tool(
        "schema",
        "List the classes in the store with their numbers of instances, and the prefixes.",
        _object([]),
    ),
    Tool(
        "query",
        f"Run a read-only SPARQL 1.1 query on the store; at most {ROWS} rows are shown. The "
        "default graph is the union of all graphs. SERVICE and updates are refused.",
        _object(["sparql"], sparql={"type": "string"}),
    ),
)


class StoreTools:
    """The tools of a served store."""

    tools: Sequence[Tool] = TOOLS
    instructions = (
        "Results of kgbench, a benchmark of language models on knowledge graphs. Ask the "
        "leaderboard first; search_dialogues finds evidence, show_dialogue reads it, and query "
        "answers everything else in SPARQL (schema lists the classes)."
    )

    def __init__(self, service: Service) -> None:
        self._service = service
        self._computing = AnalysisCache(service.analysts)
        service.preparations.append(self._computing.prepare)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do nothing; the service is started by the server."""
        yield

    async def use(self, name: str, values: Mapping[str, Json]) -> ToolResult:
        """Call a tool; refusals and time limits become error results."""
        try:
            if name == "leaderboard":
                return await self._leaderboard(values)
            if name == "search_dialogues":
                return await self._search(values)
            if name == "show_dialogue":
                return await self._show(values["dialogue"])
            if name == "schema":
                text = queries.bind(queries.load("class-partitions"))
                result = await self._query(text)
                prefixes = "\n".join(
                    f"PREFIX {prefix}: <{iri}>" for prefix, iri in PREFIXES.items()
                )
                return ToolResult(f"{prefixes}\n{result.text}", result.outcome)
            return await self._query(values["sparql"])
        except PageRefused as refused:
            return ToolResult(f"error: {refused.message}", ToolOutcome.ERROR)

    async def _leaderboard(self, values: Mapping[str, Json]) -> ToolResult:
        arguments = {name: values.get(name) for name in ("model", "task")}
        arguments["suite"] = await self._suite(values)
        return ToolResult(await self._computing.get(self._service.view, "standings", **arguments))

    async def _search(self, values: Mapping[str, Json]) -> ToolResult:
        names = {"text": "search"}
        search = DialogueSearch.read(
            {names.get(name, name): str(value) for name, value in values.items() if name != "suite"}
        )
        if search.problem is not None:
            return ToolResult(f"error: {search.problem}", ToolOutcome.ERROR)
        wanted = {name: getattr(search, name) for name in DialogueSearch.__dataclass_fields__}
        result = await self._computing.get(
            self._service.view, "dialogues", suite=await self._suite(values), wanted=wanted
        )
        if not result["rows"]:
            return ToolResult("(no dialogue fits)", ToolOutcome.EMPTY)
        lines = [f"{result['total']} dialogues, page {result['page']} of {result['pages']}"]
        for row in result["rows"]:
            score = "" if row["score"] is None else f" {row['metric']} {row['score']:.3f}"
            lines.append(f"<{row['iri']}> {row['task']} {row['model']} {row['outcome']}{score}")
        more = result["page"] < result["pages"]
        return ToolResult("\n".join(lines), ToolOutcome.TRUNCATED if more else ToolOutcome.OK)

    async def _suite(self, values: Mapping[str, Json]) -> str | None:
        if "suite" in values:
            return str(values["suite"])
        suites = await self._computing.get(self._service.view, "suites")
        return suites[0][0] if suites else None

    async def _show(self, dialogue: str) -> ToolResult:
        iri = dialogue.strip().removeprefix("<").removesuffix(">")
        shown = await self._computing.get(self._service.view, "transcript", iri=iri)
        return ToolResult(json.dumps(shown, ensure_ascii=False, indent=1))

    async def _query(self, text: str) -> ToolResult:
        service = self._service
        view = service.view
        admitted = await service.readers.admit(text)
        rows = admitted.form in ("SELECT", "ASK")
        form = "tsv" if admitted.form == "SELECT" else "json" if rows else "nt"
        job = service.job(view, form, query=text)
        answer = await service.pool.run(job, view)
        data, complete = await answer.beginning(_BYTES)
        if admitted.form == "ASK":
            return ToolResult("true" if json.loads(data)["boolean"] else "false")
        result = _table(data[:_BYTES], headed=rows, cut=not complete or len(data) > _BYTES)
        note = unknown_terms(text) if result.outcome is ToolOutcome.EMPTY else None
        return result if note is None else replace(result, text=f"{result.text}\n{note}")


def _table(data: bytes | bytearray, *, headed: bool, cut: bool) -> ToolResult:
    """Return the first lines of TSV or N-Triples, which have no line breaks inside rows."""
    lines = data.decode("utf-8", "replace").split("\n")
    lines.pop()  # empty, or an incomplete row
    heading = lines[:1] if headed else []
    rows = lines[len(heading) :]
    if not rows and not cut:
        return ToolResult("\n".join([*heading, "(no rows)"]), ToolOutcome.EMPTY)
    shown = rows[:ROWS]
    if cut or len(rows) > len(shown):
        more = "more rows are" if cut else f"{len(rows) - len(shown)} more are"
        return ToolResult(
            "\n".join([*heading, *shown, f"({more} not shown)"]), ToolOutcome.TRUNCATED
        )
    return ToolResult("\n".join([*heading, *shown]))
