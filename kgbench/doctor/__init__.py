# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of an installation: what works, what is missing, what is broken, at no cost.

Each module examines one part and yields :class:`Condition` objects.
Nothing is changed, and no paid request is made. A missing thing comes with advice on how to get it.
No function here returns the value of a key, only the name of its variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """The state of a thing; only something that is present but does not work is broken."""

    OK = "ok"
    ABSENT = "absent"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a thing in a part of kgbench, with words, advice, and ``facts`` as JSON."""

    part: str
    name: str
    state: State
    words: str
    advice: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def examine(location: str, *, network: bool = False) -> Iterator[Condition]:
    """Yield the conditions of all parts, including the store at ``location``.

    Without ``network``, no server is contacted, not even that of a remote store. With it, only the
    servers that ``location`` and the environment name are contacted.
    """
    from kgbench.doctor import environment, installed

    yield from installed.software()
    yield from installed.packages()
    yield from environment.provider_keys()
    yield from environment.connections()
    if network:
        yield from environment.servers()
    yield from environment.store(location, network=network)
    yield from installed.data_sets()
    yield installed.pages()
    yield from installed.task_classes()
    yield from installed.lockdown()
    yield from installed.judging()
