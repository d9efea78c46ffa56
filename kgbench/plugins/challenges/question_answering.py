# SPDX-License-Identifier: Apache-2.0
"""A model as an endpoint of the TEXT2SPARQL protocol, which answers questions with queries.

``GET /text2sparql?dataset=IRI&question=TEXT`` answers ``{"dataset", "question", "query"}``. The
model gets the prompt of the task class Text2SparqlQuestions: the schema of the installed graph and
the question. Questions and answers are not recorded here; the client records them. Answers cost
money, so web pages of other origins cannot ask, a question whose client is gone is dropped, and the
model has a budget and rate limits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

import kgbench.api as kb
from kgbench.connectors import Connector, extraction, find
from kgbench.connectors.replay import SOURCE
from kgbench.datasets import home
from kgbench.engine.rate_limiter import RateLimiter
from kgbench.engine.spending import CHARACTERS_PER_TOKEN, Limits, Spending
from kgbench.plugins.challenges import question_files, questions
from kgbench.rdf import digest
from kgbench.serve.app import SecurityMiddleware
from kgbench.serve.requests import wait_while_connected
from kgbench.serve.settings import require_own_page, require_token
from kgbench.tasks import catalogue

LONGEST: Final = 4_000
"""Maximum length of a question in characters; the longest published one has 300."""

_AT_ONCE: Final = 16  # concurrent calls of the model
_WAITING: Final = 200  # maximum number of waiting questions
_SUITE: Final = "text2sparql"


def application(
    settings: kb.PageSettings,
    setup: kb.ModelSetup,
    timeout: float,
    *,
    spending: Spending | None = None,
    requests_per_minute: float | None = None,
) -> ASGIApp:
    """Return the endpoint for the model ``setup``, with ``timeout`` in seconds per call.

    ``spending`` counts the calls, and limits what they cost until the server ends (``None``: it has
    no limits). If the settings
    have a token, each question must carry it. Raises :class:`~kgbench.errors.ModelSpecError` for a
    model that cannot be called here.
    """
    with contextlib.ExitStack() as stack:
        token = SOURCE.set(settings.location)
        stack.callback(SOURCE.reset, token)
        connector = find(setup.connector).open(setup, timeout)
    limiter = RateLimiter(_AT_ONCE, requests_per_minute=requests_per_minute)
    client = _ModelClient(setup, connector, timeout, spending, limiter)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with connector:
            yield

    async def answer(request: Request) -> Response:
        require_own_page(request, settings.public)
        if settings.token is not None:
            require_token(settings, request)
        if request.method != "GET":  # Starlette passes HEAD to routes for GET
            return await method(request, kb.PageRefused(405, ""))
        asked = (request.query_params.getlist(name) for name in ("dataset", "question"))
        task = asyncio.create_task(client.answer(*asked))
        await wait_while_connected(request, task)
        return JSONResponse(task.result())

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, kb.PageRefused)
        return JSONResponse({"error": error.message}, error.status, error.headers)

    async def health(_: Request) -> Response:
        return JSONResponse({"model": setup.label, "datasets": sorted(datasets())})

    async def missing(_: Request, __: Exception) -> Response:
        message = "ask GET /text2sparql?dataset=IRI&question=TEXT; GET /health names the data sets"
        return JSONResponse({"error": message}, 404)

    async def method(_: Request, __: Exception) -> Response:
        return JSONResponse({"error": "questions come by GET"}, 405, {"Allow": "GET"})

    async def failed(_: Request, __: Exception) -> Response:
        return JSONResponse({"error": "the server failed on this question"}, 500)

    app = Starlette(
        routes=[Route("/text2sparql", answer), Route("/", answer), Route("/health", health)],
        lifespan=lifespan,
        exception_handlers={kb.PageRefused: refused, 404: missing, 405: method, Exception: failed},
    )
    return SecurityMiddleware(app, settings)


def datasets() -> dict[str, str]:
    """Return the installed data sets with questions: IRI -> name."""
    installed = set(question_files.WITH_GRAPH) & set(home.installed())
    return {question_files.installed(name).dataset: name for name in sorted(installed)}


class _ModelClient:
    def __init__(
        self,
        setup: kb.ModelSetup,
        connector: Connector,
        timeout: float,
        spending: Spending | None,
        rate_limiter: RateLimiter,
    ) -> None:
        self._setup = setup
        self._connector = connector
        self._timeout = timeout
        self._spending = spending or Spending([setup], (), {}, {}, Limits(), batched=())
        self._rate_limiter = rate_limiter
        self._waiting = 0

    async def answer(self, asked_about: Sequence[str], questions: Sequence[str]) -> dict[str, str]:
        """Return the JSON answer to a question; raises :class:`Refused`."""
        dataset, question = _single("dataset", asked_about), _single("question", questions)
        if len(question) > LONGEST:
            raise kb.PageRefused(413, f"the question has more than {LONGEST} characters")
        known = datasets()
        if dataset not in known:
            names = ", ".join(sorted(known)) or "none is installed"
            raise kb.PageRefused(
                404, f"the data set {dataset[:200]} is not known here (but: {names})"
            )
        if self._waiting >= _WAITING:
            raise _later("too many questions wait for the model: try again later", 15)
        self._waiting += 1
        try:
            query = await self._query(known[dataset], question)
        finally:
            self._waiting -= 1
        return {"dataset": dataset, "question": question, "query": query}

    async def _query(self, name: str, question: str) -> str:
        try:
            case = _case(name, question)
            module: Any = catalogue.module(case.task_class)
            prompt = module.prompt(case)
            request = kb.Request((prompt,), case, digest(f"{self._setup.iri}/{prompt}"))
            reply = await self._ask(request)
        except (TimeoutError, kb.ProviderTimeout):
            raise kb.PageRefused(
                504, f"the model gave no answer within {self._timeout:g} s"
            ) from None
        except kb.RateLimited as error:
            wait = 15 if error.retry_after is None else max(1, round(error.retry_after))
            raise _later(f"the model cannot be called now: {error}", wait) from None
        except kb.ProviderError as error:
            raise kb.PageRefused(502, f"the model gave no answer: {error}") from None
        except KeyError:  # raised by a model that answers from reference answers
            message = f"{self._setup.label} only knows the questions of installed data sets"
            raise kb.PageRefused(404, message) from None
        except kb.KgbenchError as error:
            raise kb.PageRefused(500, f"the question cannot be asked: {error}") from None
        query: str | None = module.query(extraction.extracted(self._setup, reply).answer)
        if query is None:
            raise kb.PageRefused(502, "the model answered without a query")
        return query

    async def _ask(self, request: kb.Request) -> kb.Reply:
        """Call the model, once its budget and its rate limits have room for the call."""
        model, prompt = self._setup.iri, len(request.messages[0]) // CHARACTERS_PER_TOKEN + 1
        while (limit := self._spending.begin(model, prompt)) is not None:
            if not self._spending.under_way:
                raise kb.PageRefused(402, f"the budget of this server ({limit}) is spent")
            await self._spending.one_ended()
        usage, uncounted = kb.Usage(), 0
        try:
            others = await self._rate_limiter.enter(prompt)
            uncounted = prompt  # a provider may charge for a call that fails or is cancelled
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await self._connector.ask(request)
            except kb.RateLimited as error:
                uncounted = 0
                self._rate_limiter.release_refused(error, others)
                raise
            except BaseException:
                self._rate_limiter.release_failed()
                raise
            usage = reply.usage
            counted = None if usage.input is None else usage.input + (usage.output or 0)
            uncounted = prompt + len(reply.text) // CHARACTERS_PER_TOKEN if counted is None else 0
            self._rate_limiter.release_answered(prompt, counted)
            return reply
        finally:
            self._spending.end(model, usage, uncounted)


def _later(message: str, seconds: int) -> kb.PageRefused:
    return kb.PageRefused(503, message, {"Retry-After": str(seconds)})


def _single(name: str, values: Sequence[str]) -> str:
    if len(values) != 1 or not values[0].strip():
        raise kb.PageRefused(400, f"the parameter '{name}' must be given once, and not be empty")
    return values[0].strip()


def _case(name: str, question: str) -> kb.Case:
    """Return the installed case with this question, or a new case.

    Models without a provider only know installed cases.
    """
    known = question_files.installed(name)
    for item in known.questions:
        for language, text in item.texts.items():
            if text.strip() == question:
                task = questions.task(name, language, "schema")
                return questions.case(_SUITE, task, known, item)
    task = questions.task(name, known.languages[0], "schema")
    data = {"dataset": known.dataset, "question": question, "graphName": name}
    return catalogue.make_case(_SUITE, questions.NAME, task.parameters, data)
