# SPDX-License-Identifier: Apache-2.0
"""Validation of the records of LLM-KG-Bench result files.

Three generations have been published. They differ in their fields:

========== ============================================= ======================================
generation fields                                        published with
========== ============================================= ======================================
1 (2023)   no ``taskLabel``, no ``taskData``             How well do LLMs speak Turtle (DL4KG)
2 (2024)   ``taskLabel``, ``taskData``, ``taskSizeInfo`` the NLP4KGC results; without a label
                                                         those of December 2023
3 (2024/5) also ``taskInfo.taskParameter``               the ESWC 2025 and SWJ results
========== ============================================= ======================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TypeAlias

from kgbench.errors import ImportRefused
from kgbench.importers.json_records import NOT_FINITE
from kgbench.model import Json

Scores: TypeAlias = dict[str, float]

_DURATION = re.compile(r"(?:(\d+) days?, )?(\d+):(\d{2}):(\d{2}(?:\.\d{1,6})?)", re.ASCII)
_ROUND = re.compile(r"0|[1-9][0-9]{0,5}")
_ROUND_PREFIX = re.compile(r"(0|[1-9][0-9]{0,5})_(.+)", re.DOTALL)
_AGGREGATION_PREFIX = re.compile(r"(meanExt|mean|max|last)_(.+)", re.DOTALL)
_ROLES = ("prompt", "response")
_GREATEST = 1e100  # score; deviations and tests need the sum of its squares
_SCORE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # as the shapes require
_CLASS_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")  # as the shapes require
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt with its answer and their times, as local times without zone."""

    prompt: str
    prompt_time: datetime
    answer: str
    answer_time: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """A validated record; ``raw`` is the record as it was read.

    ``flat`` has the scores of a task with one answer; ``nested`` those of a dialogue, by round
    (``"0"``, ``"1"`` ...) and aggregation (``"mean"`` ...). Exactly one of them is not ``None``.
    Flat names of a dialogue's scores and infos (``0_f1``, ``1_f1``, ``f1``) are grouped in the same
    way. ``missing`` maps the fields of scores that are left out to the reason: they are not finite.
    ``label`` is ``None`` before 2024, when labels were not published.
    """

    raw: Mapping[str, Json]
    generation: int
    task_class: str
    version: str
    label: str | None
    commit: str
    model: str
    parameters: Mapping[str, Json]
    data: Mapping[str, Json]
    infos: Mapping[str, Json]
    flat: Scores | None
    nested: Mapping[str, Scores] | None
    missing: Mapping[str, str]
    exchanges: tuple[Exchange, ...]
    started: datetime
    ended: datetime


def read_record(raw: Json, source: str, index: int) -> Record:
    """Validate record number ``index`` (from 0) of the file ``source``.

    Raises :class:`ImportRefused` with file, record and field in its message.
    """
    return _Reader(source, index).record(raw)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the fields of one record; errors name file, record and field."""

    source: str
    index: int
    missing: dict[str, str] = field(default_factory=dict)

    def record(self, raw: Json) -> Record:
        if not isinstance(raw, dict):
            raise self.refused("", "is not an object")
        task = self.mapping(raw, "taskInfo")
        exchanges = self.exchanges(raw)
        started = self.moment(raw.get("startTime"), "startTime")
        task_class = self.segment(task, "taskId", _CLASS_NAME)
        version = self.segment(task, "version", _SEGMENT)
        flat, nested = self.scores(raw, len(exchanges))
        return Record(
            raw=raw,
            generation=_generation(raw, task),
            task_class=task_class,
            version=version,
            label=self.name(task, "taskInfo", "taskLabel") if "taskLabel" in task else None,
            commit=self.segment(task, "gitCommit", _SEGMENT),
            model=self.name(raw, "", "modelId"),
            parameters=self.optional_mapping(task, "taskInfo", "taskParameter"),
            data=self.optional_mapping(raw, "", "taskData"),
            infos=_infos(self.optional_mapping(raw, "", "info"), nested),
            flat=flat,
            nested=nested,
            missing=self.missing,
            exchanges=exchanges,
            started=started,
            ended=self.end(raw, started, exchanges),
        )

    def refused(self, field: str, problem: str) -> ImportRefused:
        source = f"{self.source}: record {self.index} (from 0)"
        if not field:
            return ImportRefused(f"{source} {problem}")
        printable = field[:100].encode("unicode_escape").decode("ascii")
        return ImportRefused(f"{source}: {printable} {problem}")

    def mapping(self, raw: Mapping[str, Json], field: str) -> dict[str, Json]:
        if field not in raw:
            raise self.refused(field, "is missing")
        value = raw[field]
        if not isinstance(value, dict):
            raise self.refused(field, "is not an object")
        return value

    def optional_mapping(self, raw: Mapping[str, Json], parent: str, field: str) -> dict[str, Json]:
        value = raw.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.refused(_path(parent, field), "is not an object")
        return value

    def name(self, raw: Mapping[str, Json], parent: str, field: str) -> str:
        value = raw.get(field)
        if not isinstance(value, str):
            raise self.refused(
                _path(parent, field), "is missing" if value is None else "is not a string"
            )
        if not value.strip():
            raise self.refused(_path(parent, field), "is empty")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            surrogate = ascii(value[error.start])
            raise self.refused(_path(parent, field), f"has a lone surrogate: {surrogate}") from None
        return value

    def segment(self, task: Mapping[str, Json], field: str, pattern: re.Pattern[str]) -> str:
        """Read a name that becomes a part of IRIs without escaping."""
        name = self.name(task, "taskInfo", field)
        if pattern.fullmatch(name) is None:
            printable = ascii(name[:40])
            raise self.refused(_path("taskInfo", field), f"has invalid characters: {printable}")
        return name

    def moment(self, value: Json, field: str) -> datetime:
        if value is None:
            raise self.refused(field, "is missing")
        try:
            return datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise self.refused(field, f"is not an ISO 8601 time: {str(value)[:40]!r}") from None

    def end(
        self, raw: Mapping[str, Json], started: datetime, exchanges: tuple[Exchange, ...]
    ) -> datetime:
        if raw.get("duration") is None:
            last = exchanges[-1].answer_time
            self.in_order(started, "startTime", last, f"interactions[{2 * len(exchanges) - 1}]")
            return last
        match = _DURATION.fullmatch(str(raw["duration"]))
        if match is None:
            raise self.refused("duration", f"is not a time span: {str(raw['duration'])[:40]!r}")
        days, hours, minutes, seconds = match.groups()
        try:
            return started + timedelta(
                days=int(days or 0), hours=int(hours), minutes=int(minutes), seconds=float(seconds)
            )
        except OverflowError:
            raise self.refused("duration", "is too long") from None

    def exchanges(self, raw: Mapping[str, Json]) -> tuple[Exchange, ...]:
        interactions = raw.get("interactions")
        if interactions is None:
            raise self.refused("interactions", "is missing")
        if not isinstance(interactions, list) or not interactions:
            raise self.refused("interactions", "is not a list of prompts and responses")
        messages = [self.message(item, k) for k, item in enumerate(interactions)]
        if len(messages) % 2:
            raise self.refused("interactions", "ends with a prompt that has no response")
        for k, ((earlier, _), (later, _)) in enumerate(pairwise(messages)):
            self.in_order(earlier, f"interactions[{k}]", later, f"interactions[{k + 1}]")
        return tuple(
            Exchange(prompt, prompt_time, answer, answer_time)
            for (prompt_time, prompt), (answer_time, answer) in zip(
                messages[::2], messages[1::2], strict=True
            )
        )

    def in_order(self, earlier: datetime, before: str, later: datetime, field: str) -> None:
        """Raise an error if ``later`` is earlier, or only one of both times names its zone."""
        if names_zone(earlier) != names_zone(later):
            raise self.refused(field, f"and {before}: only one of them names a time zone")
        if later < earlier:
            raise self.refused(
                field,
                f"is earlier than {before}: the clock was set back in between, as at the end of "
                f"summer time; write all times of the file with their zone "
                f"(2024-10-27T02:30:00+02:00), or correct this one",
            )

    def message(self, item: Json, k: int) -> tuple[datetime, str]:
        field = f"interactions[{k}]"
        if not isinstance(item, list) or len(item) != 3:  # noqa: PLR2004 - role, time, text
            raise self.refused(field, "is not [role, time, text]")
        role, time, text = item
        if role != _ROLES[k % 2]:
            raise self.refused(field, f"has the role {str(role)[:40]!r}, not {_ROLES[k % 2]!r}")
        if not isinstance(text, str):
            raise self.refused(field, "has no text")
        return self.moment(time, field), text

    def scores(
        self, raw: Mapping[str, Json], rounds: int
    ) -> tuple[Scores | None, dict[str, Scores] | None]:
        published = self.mapping(raw, "scores")
        if not any(isinstance(value, dict) for value in published.values()):
            if not any(map(_ROUND_PREFIX.fullmatch, published)):
                return self.numbers(published, "scores"), None
            published = _by_group(published)
        nested = {}
        for group, values in published.items():
            if not isinstance(values, dict):
                raise self.refused(f"scores.{group}", "is not an object although others are")
            number = round_number(group)
            if number is not None and number >= rounds:
                raise self.refused(f"scores.{group}", f"is a round, but there are only {rounds}")
            if number is None and _SCORE_NAME.fullmatch(group) is None:
                raise self.refused(f"scores.{group}", "is neither a round nor a valid name")
            nested[group] = self.numbers(values, f"scores.{group}")
        return None, nested

    def numbers(self, values: Mapping[str, Json], field: str) -> Scores:
        """Read the finite scores of one group; ranges are not checked here."""
        scores = {}
        for name, value in values.items():
            if value in NOT_FINITE:
                self.missing[f"{field}.{name}"] = f"is {value}"
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise self.refused(f"{field}.{name}", f"is not a number: {str(value)[:40]!r}")
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not abs(number) <= _GREATEST:
                raise self.refused(f"{field}.{name}", "is too large")
            if _SCORE_NAME.fullmatch(name) is None:
                raise self.refused(f"{field}.{name}", "has characters not allowed in scores")
            scores[name] = number
        return scores


def round_number(group: str) -> int | None:
    """Return the round number that a group of scores is named after, or ``None``."""
    return int(group) if _ROUND.fullmatch(group) else None


def names_zone(moment: datetime) -> bool:
    """Return whether a time names its zone; times with and without zone cannot be compared."""
    return moment.tzinfo is not None


def _by_group(side_by_side: Mapping[str, Json]) -> dict[str, Json]:
    """Group scores by the round or aggregation that prefixes their names.

    Scores without a prefix are those of the last judged answer.
    """
    grouped: dict[str, Json] = {}
    for key, value in side_by_side.items():
        match = _ROUND_PREFIX.fullmatch(key) or _AGGREGATION_PREFIX.fullmatch(key)
        group, name = ("last", key) if match is None else match.groups()
        grouped.setdefault(group, {})[name] = value
    return grouped


def _infos(infos: dict[str, Json], nested: Mapping[str, Scores] | None) -> dict[str, Json]:
    """Group infos by the round that prefixes their names, if the scores are grouped by round.

    Infos without a prefix repeat those of the last round, or are about the dialogue; repetitions
    are left out.
    """
    if nested is None or not any(map(_ROUND_PREFIX.fullmatch, infos)):
        return infos
    grouped: dict[str, Json] = {}
    others: dict[str, Json] = {}
    for key, value in infos.items():
        match = _ROUND_PREFIX.fullmatch(key)
        if match is not None and match[1] in nested:
            grouped.setdefault(match[1], {})[match[2]] = value
        else:
            others[key] = value
    last = grouped.get(max(grouped, key=int), {}) if grouped else {}
    return grouped | {k: v for k, v in others.items() if k not in last or last[k] != v}


def _generation(raw: Mapping[str, Json], task: Mapping[str, Json]) -> int:
    if "taskParameter" in task:
        return 3
    return 2 if "taskLabel" in task or "taskData" in raw else 1


def _path(parent: str, field: str) -> str:
    return f"{parent}.{field}" if parent else field
