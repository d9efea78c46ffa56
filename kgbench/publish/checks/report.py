# SPDX-License-Identifier: Apache-2.0
"""The report of a check: a checklist whose entries have verdicts and faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kgbench.errors import KgbenchError

KEPT = 100  # faults of one constraint that are reported; further faults are only counted
_OTHER_FAULTS = "Correct the other faults first; if there are none, report a defect of kgbench."


class Verdict(StrEnum):
    """The verdict on an entry of the checklist."""

    PASSED = "passed"
    ADVICE = "advice"
    FAILED = "failed"


class Fault(NamedTuple):
    """One fault: its constraint, node, file, message and remedy.

    ``node`` is an IRI if there is one. ``advice`` marks a recommendation that is not a requirement.
    """

    constraint: str
    node: str
    file: str
    message: str
    remedy: str
    advice: bool = False

    def __str__(self) -> str:
        location = " in ".join(part for part in (self.node, self.file) if part)
        return f"{self.constraint}: {location}: {self.message} {self.remedy}"


class Entry:
    """One entry of the checklist; ``note`` says what was checked.

    The first ``faults`` of each constraint are kept, and all are counted. A check that cannot be
    completed is a fault, too.
    """

    def __init__(self, name: str, title: str, faults: Iterable[Fault] = (), note: str = "") -> None:
        self.name = name
        self.title = title
        self.note = note
        self.faults: list[Fault] = []
        self.counts: dict[str, int] = {}
        self.demands = 0
        try:
            for fault in faults:
                self.add(fault)
        except KgbenchError:
            raise
        except Exception as error:  # noqa: BLE001 - values of unexpected types may raise anything
            message = f"The check ended with {type(error).__name__}: {error}."
            self.add(Fault("incomplete", "", "", message, _OTHER_FAULTS))

    def add(self, fault: Fault) -> None:
        """Add a fault."""
        number = self.counts[fault.constraint] = self.counts.get(fault.constraint, 0) + 1
        self.demands += not fault.advice
        if number <= KEPT:
            self.faults.append(fault)

    @property
    def verdict(self) -> Verdict:
        """The verdict on this entry."""
        if self.demands:
            return Verdict.FAILED
        return Verdict.ADVICE if self.counts else Verdict.PASSED

    def lines(self) -> Iterable[str]:
        """Yield the entry as lines of text."""
        yield f"{self.verdict!s:<6}  {self.title}{f': {self.note}' if self.note else ''}"
        yield from (f"    {fault}" for fault in self.faults)
        for constraint, count in self.counts.items():
            if count > KEPT:
                yield f"    {constraint}: {count - KEPT} more"


@dataclass
class Report:
    """The checklist of a publication."""

    target: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def faults(self) -> list[Fault]:
        """The kept faults in the order of the checklist, without advice."""
        return [fault for entry in self.entries for fault in entry.faults if not fault.advice]

    @property
    def number_of_faults(self) -> int:
        """The number of all faults, including those that are only counted."""
        return sum(entry.demands for entry in self.entries)

    @property
    def passed(self) -> bool:
        """Whether all requirements are met."""
        return self.number_of_faults == 0

    def as_json(self) -> dict[str, object]:
        """Return the report in the form of ``--json``."""
        return {
            "checked": self.target,
            "passed": self.passed,
            "faults": self.number_of_faults,
            "checklist": [
                {
                    "name": entry.name,
                    "title": entry.title,
                    "verdict": str(entry.verdict),
                    "note": entry.note,
                    "counts": entry.counts,
                    "faults": [fault._asdict() for fault in entry.faults],
                }
                for entry in self.entries
            ],
        }

    def lines(self) -> Iterable[str]:
        """Yield the report as lines of text."""
        for entry in self.entries:
            yield from entry.lines()
        total = self.number_of_faults
        yield "no faults" if not total else f"{total} fault{'s' if total > 1 else ''}"
