# SPDX-License-Identifier: Apache-2.0
"""A judging child: its setup, its messages, and the query in which it ended."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from kgbench.children.child import Child
from kgbench.children.endings import ChildEnded
from kgbench.errors import EvaluationError
from kgbench.execution import frames
from kgbench.execution.watched import SIZE, SharedStatus
from kgbench.model import Json
from kgbench.tasks import keys


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a child: engine, memory, task classes, graphs as (name, path).

    ``policy`` is the comparison policy that it judges by, if any; ``loads`` names optional parts
    to load (:data:`kgbench.execution.warming.LOADERS`).
    """

    engine: str
    memory_bytes: int
    classes: frozenset[str]
    graphs: tuple[tuple[str, str], ...]
    policy: str | None = None
    loads: frozenset[str] = frozenset()


class Process(Child):
    """A judging child; raises :class:`~kgbench.errors.EvaluationError` if it cannot be started."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        with tempfile.TemporaryFile() as shared:
            shared.truncate(SIZE)
            board = shared.fileno()
            self._board = SharedStatus(board)
            super().__init__("kgbench.execution.child", pass_fds=[board])
        try:
            self.set_up(
                {
                    "board": board,
                    "engine": setup.engine,
                    "memory_bytes": setup.memory_bytes,
                    "classes": sorted(setup.classes),
                    "graphs": setup.graphs,
                    "policy": setup.policy,
                    "loads": sorted(setup.loads),
                    "task_key": keys.user_key(),
                }
            )
        except ChildEnded as ended:
            raise EvaluationError(f"no judging process could be started: {ended}") from None

    @property
    def query(self) -> str | None:
        """The digest of the child's current query, or of that in which it ended."""
        return self._board.read()

    def ask(self, message: Json) -> None:
        """Queue a message; see :meth:`~kgbench.children.child.Child.send`."""
        self.send(frames.encode(message))

    def answer(self, deadline: float) -> Json:
        """Return the next answer; see :meth:`~kgbench.children.child.Child.receive`."""
        return frames.decode(self.receive(deadline))
