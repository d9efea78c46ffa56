# SPDX-License-Identifier: Apache-2.0
"""Keys and servers that the environment names, and the store; values of keys are never returned."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgbench.config.trees import hidden
from kgbench.connectors import keys
from kgbench.connectors.declared import declarations
from kgbench.connectors.servers import Service
from kgbench.doctor import Condition, State
from kgbench.errors import EnvironmentVariableError, KgbenchError, ModelSpecError
from kgbench.net import environment, web
from kgbench.net.limits import Limits, Misbehaviour
from kgbench.store import back_ends, examination, maintenance, open_reader, snapshots
from kgbench.store.back_ends import public_url
from kgbench.store.databases import is_store

_LIMIT = 5.0  # seconds
_MOST = 1 << 20  # bytes; only the headers are read
_LOW_SPACE = 1 << 30  # bytes of free space below which a note is due
_SHOWN = 3  # problems
_condition = partial(Condition, "store")


def services() -> dict[str, Service]:
    """Return the services with keys by connector; those that share keys occur once."""
    by_keys: dict[tuple[str, ...], tuple[str, Service]] = {}
    for name, declared in declarations().items():
        if declared.service is not None and declared.service.keys:
            by_keys.setdefault(declared.service.keys, (name, declared.service))
    return dict(by_keys.values())


def provider_keys() -> Iterator[Condition]:
    """Yield the variable with the key of each provider, then the settings in the environment."""
    for name, service in services().items():
        yield _key(name, service.keys)
    settings = sorted(name for name in os.environ if name.startswith("KGBENCH_"))
    if settings := [name for name in settings if os.environ[name]]:
        facts = {"variables": settings}
        yield Condition("keys", "settings", State.OK, ", ".join(settings), None, facts)


def _key(name: str, variables: tuple[str, ...]) -> Condition:
    for variable in variables:
        facts = {"variable": variable}
        try:
            source = keys.key_location(variable)
        except ModelSpecError as error:
            advice = f"set {variable} to the key alone"
            return Condition("keys", name, State.BROKEN, str(error), advice, facts)
        if source is not None:
            words = f"a key is in the {source}: {variable}"
            return Condition("keys", name, State.OK, words, None, {**facts, "place": source})
    advice = f"set {' or '.join(variables)}, or: keyring set {keys.SERVICE} {variables[0]}"
    return Condition("keys", name, State.ABSENT, "no key", advice, {"variable": None})


def connections() -> Iterator[Condition]:
    """Yield each variable with a proxy or certificates, and whether it can be used."""
    for variable, value, problem in environment.problems():
        state, words, advice = State.OK, value, None
        if problem is not None:
            state = State.BROKEN
            words, _, repair = problem.partition("; ")
            advice = repair or f"unset {variable}"
        yield Condition("environment", variable, state, words, advice, {"value": value})


def servers() -> Iterator[Condition]:
    """Yield whether the servers named by the environment answer; no key is sent."""
    for service in services().values():
        variable = service.variable
        if variable and (url := os.environ.get(variable, "").strip()):
            yield _answers(variable, url)


def _answers(variable: str, url: str) -> Condition:
    address, parts = hidden(public_url(url)), urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        words = f"{address} is not an http or https address, or contains a user or password"
        return Condition("servers", variable, State.BROKEN, words, f"correct {variable}")
    try:
        with web.request(url, Limits(_MOST, _MOST, _LIMIT), idle=_LIMIT) as response:
            status = response.status
    except (OSError, ValueError, Misbehaviour, EnvironmentVariableError) as error:
        words = f"{address} does not answer: {error}"
        advice = f"start the server, or correct {variable}"
        return Condition("servers", variable, State.BROKEN, words, advice)
    # Without key and path, even a healthy server answers 401 or 404.
    words = f"{address} answers (HTTP {status})"
    return Condition("servers", variable, State.OK, words, None, {"status": status})


def store(location: str, *, network: bool) -> Iterator[Condition]:
    """Yield the conditions of the store at ``location``; contact a server only with ``network``."""
    if location == "memory:":
        words = "a store in memory ends with the command that made it"
        yield _condition("location", State.NOTE, words)
    elif back_ends.is_remote(location):
        yield from _remote(location, network=network)
    else:
        yield from _embedded(Path(location))


def _remote(location: str, *, network: bool) -> Iterator[Condition]:
    try:
        server = back_ends.find(location)
    except KgbenchError as error:
        yield _condition("location", State.BROKEN, str(error))
        return
    words, facts = f"{server.location}, a server ({server.kind})", {"location": server.location}
    yield _condition("location", State.OK, words, None, facts)
    if network:
        yield from _content(location)
    else:
        advice = "ask the server: add --network"
        yield _condition("content", State.NOTE, "was not checked", advice)


def _embedded(path: Path) -> Iterator[Condition]:
    if not path.exists():
        words = f"there is no store at {path}"
        yield _condition("location", State.ABSENT, words, "`kgbench run` creates one")
        return
    if not is_store(path):
        words = f"{path} exists, but is not a kgbench store"
        yield _condition("location", State.BROKEN, words, "choose another with --store")
        return
    with examination.unowned(path) as process:
        owner = process
    size, kept = _bytes(path), snapshots.all_of(path / "snapshots")
    facts = {"location": str(path), "owner": owner, "bytes": size, "snapshots": len(kept)}
    words = f"{path}, {_mebibytes(size)}, {len(kept)} snapshots"
    yield _condition("location", State.OK, words, None, facts)
    if owner is not None:
        words = f"{owner} owns it now; readers see its newest snapshot"
        yield _condition("owner", State.NOTE, words)
    elif snapshots.is_dirty(path):
        words = "its last writer did not close it; no acknowledged write is lost"
        advice = "none needed: the next command that opens it repairs it"
        yield _condition("owner", State.NOTE, words, advice)
    else:
        yield _condition("owner", State.OK, "no process owns it, and it was closed properly")
    free = shutil.disk_usage(path).free
    if free < _LOW_SPACE:
        words = f"only {_mebibytes(free)} are free on the disk of the store"
        yield _condition("space", State.NOTE, words, None, {"free": free})
    yield from _content(str(path))


def _content(location: str) -> Iterator[Condition]:
    """Yield the result of ``kgbench store check``: layout, registry, stamps, graphs, snapshots."""
    try:
        if back_ends.is_remote(location):
            with open_reader(location) as reader:
                report = maintenance.check(reader)
        else:
            report = examination.check(Path(location))
    except (KgbenchError, OSError) as error:
        yield _condition("content", State.BROKEN, str(error))
        return
    facts: dict[str, Any] = report.as_json()
    if report.problems:
        listed = report.problems[:_SHOWN] + (["..."] if report.problems[_SHOWN:] else [])
        words = f"{len(report.problems)} problems: {'; '.join(listed)}"
        advice = (
            "see `kgbench store check`; `kgbench store compact` removes what belongs to nothing, "
            "`kgbench store recover` saves what is not damaged"
        )
        yield _condition("content", State.BROKEN, words, advice, facts)
        return
    writer = f"; being written by {report.writer}" if report.writer else ""
    words = (
        f"layout {report.layout}, {report.graphs:,} graphs and {report.triples:,} triples, "
        f"registry and graphs agree{writer}"
    )
    yield _condition("content", State.OK, words, None, facts)


def _bytes(path: Path) -> int:
    """Return the bytes on disk; hard-linked files count once."""
    sizes: dict[tuple[int, int], int] = {}
    for file in path.rglob("*"):
        try:
            status = file.stat()
        except OSError:  # another process has removed it in the meantime
            continue
        sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"
