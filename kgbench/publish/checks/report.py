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


@dataclass
class Entry:
    """One entry of the checklist; ``note`` says what was checked."""

    name: str
    title: str
    note: str = ""
    faults: list[Fault] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    demands: int = 0

    def add(self, faults: Iterable[Fault]) -> None:
        """Add faults; the first ones of each constraint are kept, and all are counted.

        A check that cannot be completed is a fault, too.
        """
        try:
            for fault in faults:
                self._count(fault)
        except KgbenchError:
            raise
        except Exception as error:  # noqa: BLE001 - values of unexpected types may raise anything
            message = f"The check ended with {type(error).__name__}: {error}."
            self._count(Fault("incomplete", "", "", message, _OTHER_FAULTS))

    def _count(self, fault: Fault) -> None:
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

    def as_json(self) -> dict[str, object]:
        """Return the entry in the form of ``--json``."""
        return {
            "name": self.name,
            "title": self.title,
            "verdict": str(self.verdict),
            "note": self.note,
            "counts": self.counts,
            "faults": [fault._asdict() for fault in self.faults],
        }


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
            "checklist": [entry.as_json() for entry in self.entries],
        }

    def lines(self) -> Iterable[str]:
        """Yield the report as lines of text."""
        width = max((len(str(entry.verdict)) for entry in self.entries), default=0)
        for entry in self.entries:
            note = f": {entry.note}" if entry.note else ""
            yield f"{entry.verdict!s:<{width}}  {entry.title}{note}"
            yield from (f"    {fault}" for fault in entry.faults)
            for constraint, count in entry.counts.items():
                if count > KEPT:
                    yield f"    {constraint}: {count - KEPT} more"
        total = self.number_of_faults
        yield "no faults" if not total else f"{total} fault{'s' if total > 1 else ''}"
