# SPDX-License-Identifier: Apache-2.0
"""Systems that speak the protocol of the TEXT2SPARQL challenge, asked as models are.

``GET ADDRESS?dataset=IRI&question=TEXT`` answers with JSON: ``{"dataset", "question", "query"}``.
The protocol has no conversation and no instruction, so a system is asked only what consists of a
bare question about a data set. The reply is the query as it was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final, Self
from urllib.parse import urlencode, urlsplit

from kgbench import rdf
from kgbench.connectors import failures
from kgbench.connectors.bodies import mapping, no_answer, text_of
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import Option, read
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused
from kgbench.model import Json, ModelSetup, Reply, Request
from kgbench.net import web
from kgbench.net.limits import REDIRECTS, LedAway, Limits, Misbehaviour, redirected

REPEATED_AFTER: Final = 15.0
"""Seconds after which the challenge's client repeats a call that failed."""

_MOST: Final = 1 << 22  # bytes of a response; the longest published query has 4,000
_SHOWN: Final = 2_000  # characters of an error's body
_MOVED: Final = frozenset((301, 302, 303, 307, 308))

DECLARED = Declaration(
    specifications=("text2sparql:ADDRESS", "text2sparql:NAME@ADDRESS"),
    options={
        "dataset": Option(
            str, "", meaning="the IRI by which the system knows the data set, if it is another one"
        ),
        "timeout": Option(
            float,
            600.0,
            1,
            3600,
            meaning="seconds for each call: 600 in the challenge of 2025, 180 in that of 2026",
        ),
    },
    sampling=(),
)


def open(setup: ModelSetup, timeout: float) -> System:  # noqa: A001, ARG001 - the interface
    """The system at the address of ``setup``; its own option says how long a call may take."""
    options = read(setup.options, DECLARED.options, setup.spec)
    if setup.sampling:
        raise ModelSpecError(
            f"{setup.spec} takes no sampling parameters, but has {', '.join(setup.sampling)}"
        )
    url = setup.base_url or setup.model_id
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelSpecError(
            f"{setup.spec}: name the address of the system, as text2sparql:https://host/path"
        )
    return System(Caller(setup.spec, options["timeout"], (), url), options["dataset"])


class System:
    """One system; see the module."""

    def __init__(self, caller: Caller, dataset: str) -> None:
        self._caller = caller
        self._dataset = dataset

    @property
    def deadline(self) -> float:
        """Seconds that a call may take, by the protocol and not by the run."""
        return self._caller.timeout

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Nothing to give back: each call has a connection of its own."""

    async def ask(self, request: Request) -> Reply:
        """The query that the system gives for a question.

        Raises :class:`~kgbench.errors.ProviderRefused` for anything but a bare question.
        """
        dataset = self._dataset or request.case.data.get("dataset")
        (question, *more) = request.messages
        if more or not dataset or question != request.case.data.get("question"):
            raise ProviderRefused(
                self._caller.say(
                    "a system can only be asked a bare question about a data set: choose tasks "
                    "whose prompt is the question"
                )
            )
        fields = {"dataset": dataset, "question": rdf.storable(question).value}
        try:
            async with asyncio.timeout(self._caller.timeout):
                text = await _in_thread(lambda: self._get(urlencode(fields)))
        except TimeoutError:
            raise _again(self._caller.late()) from None
        except ProviderError as error:
            raise _again(error) from None
        except Misbehaviour as error:
            raise _again(self._caller.misled(error)) from None
        except OSError as error:
            raise _again(self._caller.cut(error)) from None
        return self._caller.read(text, _reply, None)

    def _get(self, fields: str) -> str:
        """The body of the response; redirects are followed within the server."""
        seconds = self._caller.timeout
        url = f"{self._caller.url}?{fields}"
        for _ in range(REDIRECTS + 1):
            with web.request(url, Limits(_MOST, _MOST, seconds), idle=seconds) as response:
                if response.status in _MOVED and (to := response.headers.get("Location")):
                    url = redirected(url, to)
                    continue
                if response.status >= 400:  # noqa: PLR2004
                    said = failures.bare(response.status, response.text(_SHOWN))
                    message = self._caller.say(f"HTTP {response.status}: {said}")
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    raise failures.of_status(
                        response.status, message, wait=failures.retry_after(headers)
                    )
                return b"".join(response.pieces()).decode("utf-8", "replace")
        raise LedAway(f"the server redirects more than {REDIRECTS} times")


def _again(error: ProviderError) -> ProviderError:
    """``error`` with the time after which the call is repeated."""
    error.again_after = REPEATED_AFTER
    return error


def _reply(body: Json, _: str | None) -> Reply:
    """The query in a response; an empty one is an empty answer."""
    if "query" not in mapping(body):
        raise ProviderError(no_answer(body, "no 'query'"))
    query = mapping(body)["query"]
    if query is None:
        return Reply("")
    text = text_of(query)
    if text is None:
        raise ProviderError("the 'query' of the response is no text")
    return Reply(text)


async def _in_thread(work: Callable[[], str]) -> str:
    """The result of ``work`` in a thread that does not keep the process from ending.

    A thread of the event loop's own pool would: a server may take its ten minutes.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def tell(result: str | None, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is None:
            done.set_result(result or "")
        else:
            done.set_exception(error)

    def run() -> None:
        result: str | None = None
        error: BaseException | None = None
        try:
            result = work()
        except Exception as failed:  # noqa: BLE001 - raised where it is awaited
            error = failed
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, error)
        error = None  # it refers to this frame, which must not refer to it

    threading.Thread(target=run, daemon=True, name="text2sparql").start()
    return await done
