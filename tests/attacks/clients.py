# SPDX-License-Identifier: Apache-2.0
"""Every client in kgbench, as a function from an address to the client's final output."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgbench.errors import KgbenchError
from tests.connectors import asked, setup_for

KEY = "k+Planted/0123456789abcdef=+x"
USER, PASSWORD = "planted-user", "p+Planted/Password-0123456789"
SECONDS = 2.0
VARIABLES = {
    **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), KEY),
    "KGBENCH_STORE_TOKEN": KEY,
    "KGBENCH_STORE_PATIENCE": "0.5",
    "KGBENCH_STORE_TIMEOUT": str(SECONDS),
}

_PACKAGES = {
    **dict.fromkeys(("openai", "vllm", "embeddings"), "openai"),
    "anthropic": "anthropic",
    "google": "google.genai",
    "google_legacy's": "requests",
}

Client = Callable[[str], Any]


def _ask(connector: str, **options: Any) -> Client:
    def client(url: str) -> Any:
        from kgbench.connectors import find

        setup = setup_for(connector, "m", url, options=options)

        async def talk() -> Any:
            async with find(connector).open(setup, SECONDS) as opened:
                return await opened.ask(asked("what?"))

        return asyncio.run(talk())

    return client


def _system(url: str) -> Any:
    """Return the answer of a TEXT2SPARQL system to a bare question."""
    from kgbench.plugins.challenges import connector as text2sparql

    request = asked("what?")
    about = {"question": "what?", "dataset": "https://example.org/"}
    request = replace(request, case=replace(request.case, data=about))
    setup = setup_for("text2sparql", "m", url, options={"timeout": SECONDS})

    async def talk() -> Any:
        async with text2sparql.open(setup, SECONDS) as opened:
            return await opened.ask(request)

    return asyncio.run(talk())


def _batch(connector: str) -> Client:
    def client(url: str) -> Any:
        from kgbench.connectors.batches import BatchStatus, open_batches

        async def results() -> list[Any]:
            async with open_batches(setup_for(connector, "m", url), SECONDS) as opened:
                standing = BatchStatus("ended", 1, None, ("file-1",))
                found: AsyncIterator[Any] = opened.results("batch-1", standing)
                return [one async for one in found]

        return asyncio.run(results())

    return client


def _batch_standing(connector: str) -> Client:
    def client(url: str) -> Any:
        from kgbench.connectors.batches import open_batches

        async def standing() -> Any:
            async with open_batches(setup_for(connector, "m", url), SECONDS) as opened:
                return await opened.status("batch-1")

        return asyncio.run(standing())

    return client


def _embeddings(url: str) -> Any:
    from kgbench.connectors.openai import embed

    return embed(setup_for("openai", "m", url), ["a"], SECONDS)


def _requests_session(url: str) -> Any:
    """Send a request as google-generativeai does; the package itself need not be installed."""
    import requests

    from kgbench.net.limits import Misbehaviour
    from kgbench.plugins.google_legacy.guarded_requests import guard

    with requests.Session() as session:
        guard(session, SECONDS)
        try:
            found = session.post(url, headers={"x-goog-api-key": KEY}, data=b"{}", timeout=SECONDS)
        except (requests.RequestException, Misbehaviour) as error:
            raise KgbenchError(type(error).__name__) from None
        return found.status_code


def _endpoint(url: str) -> Any:
    from kgbench.execution.endpoint import Endpoint

    return Endpoint(url, seconds=SECONDS / 4, pause=0.01).select("SELECT * { ?s ?p ?o }", {})


def _store(query: str) -> Client:
    def client(url: str) -> Any:
        from kgbench.store import back_ends
        from kgbench.store.client import Client as StoreClient

        opened = StoreClient(back_ends.find(url))
        try:
            found = opened.query(query)
            return bool(found) if query.startswith("ASK") else [str(row) for row in found]
        finally:
            opened.close()

    return client


def _store_graph(url: str) -> Any:
    from kgbench.store import back_ends
    from kgbench.store.client import Client as StoreClient

    back_end = replace(back_ends.find(url), data=url)
    opened = StoreClient(back_end)
    try:
        return [str(triple) for triple in opened.triples("urn:graph")]
    finally:
        opened.close()


def _digest_store(url: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KGBENCH_STORE_TOKEN")
        patch.setenv("KGBENCH_STORE_USER", USER)
        patch.setenv("KGBENCH_STORE_PASSWORD", PASSWORD)
        return _store("ASK { ?s ?p ?o }")(url)


def _import(name: str) -> Client:
    def client(url: str) -> Any:
        from kgbench.importers.rdf import sources

        with tempfile.TemporaryDirectory() as scratch:
            return sources.fetch_documents(url + name, Path(scratch))

    return client


def _install(url: str) -> Any:
    from kgbench.datasets import install

    return len(install.download(url))


def _doctor(url: str) -> Any:
    from kgbench.doctor import environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", url)
        patch.setattr(environment, "_LIMIT", SECONDS)
        return list(environment.servers())


CLIENTS: dict[str, Client] = {
    "openai": _ask("openai"),
    "openai responses": _ask("openai", api="responses"),
    "openai batch": _batch_standing("openai"),
    "openai results": _batch("openai"),
    "embeddings": _embeddings,
    "vllm": _ask("vllm", key_env="OPENAI_API_KEY"),
    "anthropic": _ask("anthropic"),
    "anthropic batch": _batch_standing("anthropic"),
    "anthropic results": _batch("anthropic"),
    "google": _ask("google"),
    "google_legacy's session": _requests_session,
    "system": _system,
    "endpoint": _endpoint,
    "store, SELECT": _store("SELECT * { ?s ?p ?o }"),
    "store, ASK": _store("ASK { ?s ?p ?o }"),
    "store, CONSTRUCT": _store("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"),
    "store, graph": _store_graph,
    "store, digest": _digest_store,
    "import rdf, file": _import("a.nq"),
    "import rdf, site": _import(""),
    "datasets install": _install,
    "doctor": _doctor,
}


def installed(name: str) -> bool:
    """Return whether the packages that a client needs are installed."""
    try:
        return (
            importlib.util.find_spec(_PACKAGES.get(name.split(maxsplit=1)[0], "kgbench"))
            is not None
        )
    except ModuleNotFoundError:  # the parent package is missing
        return False


def said(name: str, url: str) -> str:
    """Return a client's final output: its result, or the kgbench error that it raises.

    Any other error propagates, because a user would see a traceback.
    """
    try:
        return f"returned {CLIENTS[name](url)!r}"
    except (KgbenchError, FileNotFoundError) as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def environment() -> Iterator[None]:
    """Set the keys of the clients in the environment."""
    before = dict(os.environ)
    os.environ.update(VARIABLES)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
