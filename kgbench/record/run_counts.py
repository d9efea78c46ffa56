# SPDX-License-Identifier: Apache-2.0
"""Counts of a run's dialogues and the tokens of their calls, kept while the run is written.

Each dialogue is marked as uncounted in the write that begins it. When many have ended, their counts
are written, which makes their marks obsolete. So the progress and the cost of a run are computed
from the counts and from the few marked dialogues, and a killed run loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import Dialogue
from kgbench.rdf import json_literal
from kgbench.record import accounts
from kgbench.record import terms as t
from kgbench.record.accounts import Account, Accounts
from kgbench.record.count_graphs import CountGraph, PendingWrite, portions, which
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill

_LEAST = 200  # ended dialogues: reading one takes some 0.4 ms
_MOST = 2_000
_SHARE = 50  # between both, a 50th of the counted dialogues: bounds the number of lists


class RunCounts(CountGraph):
    """The counts of the run in a graph; a session counts the dialogues that it begins.

    They stay valid if each write to the run's graph also renews the change stamp of their own.
    Dialogues that end in a later session, or long after they began, are counted by :meth:`finish`.
    """

    def __init__(self, store: Store, run_graph: str) -> None:
        super().__init__(store, run_graph)
        self._ended: Accounts = {}
        self._number = self._before = 0
        #: The open dialogues that are marked on the next list, and whether they were on another.
        self._open: dict[str, bool] = {}
        if self.is_whole:
            self.finish()
            self._before = sum(account.complete for account in self._stored().values())

    @property
    def together(self) -> dict[str, str]:
        """The graph of the counts by that of the run, while they are valid."""
        return {self._counted: self.graph} if self.is_whole else {}

    def beside(self) -> list[Block]:
        """Return the blocks that keep the counts valid in a write to the run's graph."""
        return self.opening() if self.is_whole else []

    def begun(self, dialogue: Dialogue) -> list[Block]:
        """Return the mark of a dialogue, for the write that begins it."""
        if not self.is_whole:
            return []
        self._open[dialogue.iri] = False
        return [Block(self.graph, [_mark(dialogue.iri, self._next)])]

    def ended(self, dialogue: Dialogue) -> PendingWrite:
        """Count a complete dialogue; return the counts if many have gathered, else nothing.

        They must be written after, or together with, the end of the dialogue.
        """
        if self._open.pop(dialogue.iri, None) is None:
            return PendingWrite([])
        calls = [call for turn in dialogue.turns for call in turn.calls]
        account = Account(1, 1, accounts.usage_of(calls))
        cell = dialogue.model, dialogue.task
        self._ended[cell] = self._ended[cell].plus(account) if cell in self._ended else account
        self._number += 1
        if self._number < min(max(_LEAST, self._before // _SHARE), _MOST):
            return PendingWrite([])
        return PendingWrite(self._folded(), self._sweep)

    def finish(self) -> None:
        """Count the complete dialogues among those that are marked.

        For a store to which nobody else is writing.
        """
        self._sweep()
        lines: list[str] = []
        marked = accounts.marked_dialogues(self._store, [self.graph])[self.graph]
        for name, dialogues in sorted(marked.items()):
            still_open = self._open_among(dialogues)
            complete = sorted(set(dialogues) - still_open)
            if complete:
                counted = accounts.of_dialogues(self._store, self._counted, complete)
                lines += _counts(name, counted)
                lines += [_mark(dialogue, self._next) for dialogue in sorted(still_open)]
        if lines:
            self._store.write([Block(self.graph, lines), *self._sealed()])
            self._sweep()
        self._parts += 1

    def seal(self) -> None:
        """Count what has ended, and seal the counts; recount all dialogues if some are missing."""
        if self.is_whole:
            if self._number:
                self._store.write(self._folded())
            self.finish()
            if self._counts_all():
                if not self._is_sealed():
                    self._store.write(self._sealed())
                return
        self.rebuild()

    def rebuild(self) -> None:
        """Recount all dialogues of the run, and mark those that are open."""
        self._store.drop([self.graph])
        counted = accounts.of_all(self._store, self._counted)
        still_open = sorted(self._open_among())
        without = accounts.of_dialogues(self._store, self._counted, still_open)
        ended = {
            cell: account.minus(without[cell]) if cell in without else account
            for cell, account in counted.items()
        }
        ended = {cell: account for cell, account in ended.items() if account.begun}
        lines = _counts(self._next, ended) if ended else []
        self._parts += 1
        lines += [_mark(dialogue, self._next) for dialogue in still_open]
        self._store.write([*self.opening(), Block(self.graph, lines)])
        self._store.write(self._sealed())

    def is_right(self) -> bool:
        """Return whether the counts with the marked dialogues equal the dialogues themselves."""
        return self._stored() == accounts.of_all(self._store, self._counted)

    def _folded(self) -> list[Block]:
        """Return the counts of ended dialogues, and new marks of open ones, which lose the old.

        A dialogue that was open at the last time as well goes on a list that is left to
        :meth:`finish`, so that none is marked again and again.
        """
        lines = _counts(self._next, self._ended)
        self._parts += 1
        for dialogue, again in list(self._open.items()):
            lines.append(_mark(dialogue, f"{self._added}.late" if again else self._next))
            self._open[dialogue] = True
            if again:
                del self._open[dialogue]
        self._before += self._number
        self._ended, self._number = {}, 0
        return [Block(self.graph, lines), Block(self._counted, [])]

    def _stored(self) -> Accounts:
        graphs = {self._counted: self.graph}
        return accounts.stored(self._store, graphs)[self._counted]

    def _open_among(self, dialogues: Sequence[str] = ()) -> set[str]:
        """Return the open dialogues of the run; with ``dialogues``, only those among them."""
        texts = [
            fill("open-dialogues.rq", graph=self._counted, which=which("dialogue", portion))
            for portion in (portions(dialogues) or [()])
        ]
        return {row["dialogue"].value for text in texts for row in self._store.query(text)}

    def _counts_all(self) -> bool:
        """Return whether each dialogue is counted or marked."""
        (row,) = self._store.query(fill("number-of-dialogues.rq", graph=self._counted))
        begun = sum(account.begun for account in self._stored().values())
        return begun == int(row["dialogues"].value)


def _mark(dialogue: str, name: str) -> str:
    return f"<{name}> {t.TO_COUNT} <{dialogue}> ."


def _counts(name: str, counted: Accounts) -> list[str]:
    """Return accounts as triples about the list ``name`` (IRI) and an IRI below it."""
    models = sorted({model for model, _ in counted})
    tasks = sorted({task for _, task in counted})
    places = {iri: place for iris in (models, tasks) for place, iri in enumerate(iris)}
    rows = [
        [places[model], places[task], *account.as_row()]
        for (model, task), account in sorted(counted.items())
    ]
    return [
        f"<{name}> {t.TYPE} {t.COUNTED_LIST} .",
        f"<{name}> {t.MODEL_LIST} {json_literal(models)} .",
        f"<{name}> {t.TASK_LIST} {json_literal(tasks)} .",
        f"<{name}> {t.CASE_LIST} {json_literal([])} .",
        f"<{name}/0> {t.TYPE} {t.DIALOGUE_COUNTS} .",
        f"<{name}/0> {t.COUNTED_LIST_P} <{name}> .",
        f"<{name}/0> {t.DIALOGUE_COUNTS_P} {json_literal(rows)} .",
    ]
