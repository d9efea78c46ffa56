# SPDX-License-Identifier: Apache-2.0
"""Systems with the protocol of the TEXT2SPARQL challenge, called like models.

``GET ADDRESS?dataset=IRI&question=TEXT`` returns JSON: ``{"dataset", "question", "query"}``. The
protocol has no conversations and no instructions, so it only supports prompts that consist of a
bare question about a data set. The reply is the query as it was received.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode, urlsplit

import kgbench.api as kb
from kgbench import rdf
from kgbench.connectors.bodies import NoAnswer, mapping, text_of
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.sdk import HttpConnector, http_client
from kgbench.net import environment

REPEATED_AFTER: Final = 15.0
"""Seconds after which the challenge's client repeats a call that failed."""

DECLARED = Declaration(
    specifications=("text2sparql:ADDRESS", "text2sparql:NAME@ADDRESS"),
    options={
        "dataset": kb.Option(
            str, "", meaning="the IRI by which the system knows the data set, if it is another one"
        ),
        "timeout": kb.Option(
            float,
            600.0,
            1,
            3600,
            meaning="seconds for each call: 600 in the challenge of 2025, 180 in that of 2026",
        ),
    },
    sampling=(),
)


def open(setup: kb.ModelSetup, timeout: float) -> System:  # noqa: A001, ARG001 - the interface
    """Return the system at the address of ``setup``; its option ``timeout`` limits calls."""
    options = kb.read_options(setup.options, DECLARED.options, setup.spec)
    if setup.sampling:
        raise kb.ModelSpecError(
            f"{setup.spec} takes no sampling parameters, but has {', '.join(setup.sampling)}"
        )
    url = setup.base_url or setup.model_id
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise kb.ModelSpecError(
            f"{setup.spec}: name the address of the system, as text2sparql:https://host/path"
        )
    environment.check(url)
    return System(Caller(setup.spec, options["timeout"], (), url), options["dataset"])


class System(HttpConnector):
    """A question answering system; see the module."""

    def __init__(self, caller: Caller, dataset: str) -> None:
        super().__init__(http_client(caller.url, caller.timeout), caller)
        self._dataset = dataset

    @property
    def deadline(self) -> float:
        """The timeout of a call in seconds, which replaces that of the run."""
        return self._caller.timeout

    async def ask(self, request: kb.Request) -> kb.Reply:
        """Return the system's query for a question.

        Raises :class:`~kgbench.errors.ProviderRefused` for any prompt but a bare question.
        """
        dataset = self._dataset or request.case.data.get("dataset")
        (question, *more) = request.messages
        if more or not dataset or question != request.case.data.get("question"):
            raise kb.ProviderRefused(
                self._caller.describe(
                    "a system can only be asked a bare question about a data set: choose tasks "
                    "whose prompt is the question"
                )
            )
        fields = {"dataset": dataset, "question": rdf.storable(question).value}
        try:
            response = await self._answered(
                self._http.get(f"{self._caller.url}?{urlencode(fields)}")
            )
            if response.status_code >= 400:  # noqa: PLR2004
                return self._caller.failed(response.status_code, response.text, response.headers)
            return self._caller.read(response.text, _reply, None)
        except kb.ProviderError as error:
            error.again_after = REPEATED_AFTER
            raise


def _reply(body: kb.Json, _: str | None) -> kb.Reply:
    """Return the query in a response; ``null`` is an empty answer."""
    if "query" not in mapping(body):
        raise NoAnswer("no 'query'", body)
    query = mapping(body)["query"]
    if query is None:
        return kb.Reply("")
    text = text_of(query)
    if text is None:
        raise kb.ProviderError("the 'query' of the response is not a string")
    return kb.Reply(text)
