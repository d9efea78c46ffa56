# SPDX-License-Identifier: Apache-2.0
"""The frame of a task family: cases, prompt, reading of answers, outcome, feedback and rounds.

A family is a folder with ``task.ttl``, the texts ``prompt.txt`` and ``feedback-*.txt``, and
``judge.py``, whose attribute ``family`` is an instance of a subclass of :class:`Family`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.on_demand import OnDemand
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue, texts

Answer = TypeVar("Answer")


class Family(ABC):
    """A task family with the name of its Python class.

    Its cases are drawn (:class:`DrawnFamily`), listed (:class:`ListedFamily`), or made in a way of
    their own.
    """

    shows: ClassVar[tuple[str, ...]] = ()
    """The data of a case that fill in the prompt: texts, or lists of lines."""
    texts_of: ClassVar[str] = ""
    """The family whose texts are used; by default this one."""
    NEEDED: tuple[str, ...] = ()
    """The data without which answers to a published case cannot be judged."""

    def __init__(self, judge: str) -> None:
        """``judge`` is the path of ``judge.py``, in the folder of the family."""
        self.FOLDER = Path(judge).parent
        self.NAME = type(self).__name__

    @abstractmethod
    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return at most ``count`` cases of a task, the same for the same seed."""

    @abstractmethod
    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge the last of ``answers``; the earlier ones are context."""

    @abstractmethod
    def reference(self, case: Case) -> str:
        """Return an answer with the best score."""

    def uid(self, data: Mapping[str, Json]) -> str | None:
        """Return the name of the case with ``data`` within its suite, by default its ``uid``."""
        return data.get("uid")

    def prompt(self, case: Case) -> str:
        """Return the prompt, with the data of the case that the family shows."""
        return self.text("prompt", **{name: _shown(case.data[name]) for name in self.shows})

    def text(self, name: str, **values: str) -> str:
        """Return the text ``name`` (without ``.txt``) of the folder, filled in with ``values``."""
        return texts.filled(self.texts_of or self.NAME, f"{name}.txt", **values)

    def file(self, name: str, shared: str = "") -> str:
        """Return the file ``name`` of the folder as text, without its final line break.

        ``shared`` is the folder of ``tasks`` with a file that families share.
        """
        return texts.shared(shared, name) if shared else texts.text(self.NAME, name)

    def structure(self, name: str, shared: str = "") -> Json:
        """Return the JSON file ``name`` of the folder, or of a ``shared`` one."""
        return texts.shared_structure(shared, name) if shared else texts.structure(self.NAME, name)

    def case(self, task: Task, suite: str, data: Mapping[str, Json]) -> Case:
        """Make the case with ``data``."""
        return catalogue.make_case(suite, self.NAME, task.parameters, data, self.uid(data))


class DrawnFamily(Family):
    """A family whose cases are drawn one by one, each when it is first used."""

    @abstractmethod
    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Return the data of the case with a number, counted from 0: the same for the same seed.

        Raises :class:`~kgbench.errors.TaskError` if there are not so many cases.
        """

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return ``count`` cases of a task."""
        return OnDemand(count, lambda number: self.case(task, suite, self.draw(task, seed, number)))


class ListedFamily(Family):
    """A family with the same cases for every seed, by default those of ``cases.json``."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return the first ``count`` cases of a task."""
        return [self.case(task, suite, data) for data in self.listed(task.parameters)[:count]]

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the data of all cases of a task with ``parameters``."""
        listed: Sequence[Mapping[str, Json]] = self.structure("cases.json")
        return listed


class Feedback(NamedTuple):
    """A prompt that says what is wrong with an answer, and the kind of what is wrong."""

    text: str
    kind: str


class Unreadable(ValueError):
    """The document in an answer cannot be read; the message says why.

    The feedback is the text ``feedback-syntax``, unless another one is given.
    """

    def __init__(self, message: str, feedback: Feedback | None = None) -> None:
        super().__init__(message)
        self.feedback = feedback


def _no_feedback() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Score:
    """The scores of an answer and what is recorded beside them, in the order of recording.

    ``usable`` is false for a document without anything that was asked for. ``feedback`` is called
    if a round is left and the answer is not exact.
    """

    scores: Mapping[str, float]
    infos: Mapping[str, Json]
    usable: bool = True
    feedback: Callable[[], Feedback | None] = _no_feedback


class DocumentFamily(Family, Generic[Answer]):
    """A family whose answers are documents in the first fenced block.

    The score ``answerParse`` and the info ``parseError`` of each answer are added to those of the
    family; an answer that cannot be read has 0 in all scores.
    """

    rounds: ClassVar[int] = 3
    shared_texts: ClassVar[str] = ""
    """The folder of ``tasks`` with the feedback on unreadable answers; by default that of the
    family."""

    @abstractmethod
    def read(self, case: Case, document: str, executor: Executor) -> Answer:
        """Read the document in an answer. Raises :class:`Unreadable`."""

    @abstractmethod
    def score(self, case: Case, answer: Answer | None, executor: Executor) -> Score:
        """Score what was read in an answer; ``None`` if it was unreadable."""

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Judge the last answer; if a round is left and it is not exact, say what is wrong."""
        last = answers[-1]
        answer, error, complaint = self._read(case, last, executor)
        score = self.score(case, answer, executor)
        scores = {"answerParse": 1.0, **score.scores}
        if error is not None:
            scores = dict.fromkeys(scores, 0.0)
        usable = error is None and score.usable
        infos = {"parseError": error, **score.infos}
        verdict = Verdict(scores, infos, outcome(last, usable=usable))
        if scores.get("exact") or len(answers) >= self.rounds:
            return verdict
        feedback = complaint or score.feedback()
        if feedback is None:
            return verdict
        return replace(verdict, next_prompt=feedback.text, feedback=feedback.kind)

    def feedback(self, name: str, kind: str = "content", **values: str) -> Feedback:
        """Return the feedback in the text ``feedback-NAME``, filled in with ``values``."""
        return Feedback(self.text(f"feedback-{name}", **values), kind)

    def _read(
        self, case: Case, answer: str, executor: Executor
    ) -> tuple[Answer | None, str | None, Feedback | None]:
        """Return what was read in an answer, or ``None``, the reason, and the feedback."""
        blocks = fenced_blocks(answer)
        if not blocks:
            reason = "there is no fenced block in the answer"
            return None, reason, self._complaint("no-block", "format")
        try:
            return self.read(case, blocks[0].body, executor), None, None
        except Unreadable as error:
            reason = str(error)
            complaint = error.feedback or self._complaint("syntax", "syntax", message=reason)
            return None, reason, complaint

    def _complaint(self, name: str, kind: str, **values: str) -> Feedback:
        if not self.shared_texts:
            return self.feedback(name, kind, **values)
        text = texts.shared_filled(self.shared_texts, f"feedback-{name}.txt", **values)
        return Feedback(text, kind)


class TurtleFamily(DocumentFamily[tuple[ox.Triple, ...]]):
    """A family whose answers are Turtle documents."""

    shared_texts = "turtle-answers"

    def read(self, case: Case, document: str, executor: Executor) -> tuple[ox.Triple, ...]:
        """Return the triples of a document."""
        parsed = executor.parse(document, "turtle")
        if parsed.triples is None:
            raise Unreadable(parsed.error or "")
        return triples(parsed.triples)


def triples(lines: tuple[str, ...]) -> tuple[ox.Triple, ...]:
    """Parse lines of N-Triples."""
    quads = ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES)
    return tuple(quad.triple for quad in quads)


def outcome(answer: str, *, usable: bool) -> Outcome:
    """Return the outcome of an answer, by whether its document is usable."""
    if usable:
        return Outcome.SCORED
    return Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY


def _shown(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)
