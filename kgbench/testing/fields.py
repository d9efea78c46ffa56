# SPDX-License-Identifier: Apache-2.0
"""Check of the fields that a declaration names for showing answers beside reference answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kgbench.execution.judging import JudgeRequest
from kgbench.model import Case, TaskModule
from kgbench.nearest import nearest
from kgbench.rdf.declared import Declared
from kgbench.testing.contract import Judge
from kgbench.vocab import KGB, compact


def faults_of_fields(
    declaration: Path, module: TaskModule, cases: Sequence[Case], judge: Judge
) -> Iterator[str]:
    """Check that each declared field occurs in cases, or in infos of verdicts on reference answers.

    Pages silently ignore a misspelt field and show no comparison.
    """
    declared = Declared(declaration)
    for node in declared.instances(KGB.TaskClass):
        fields = {
            term: [value.value for value in declared.objects(node, term)]
            for term in (KGB.referenceText, KGB.referenceSet, KGB.judgedText, KGB.judgedSet)
        }
        data = {name for case in cases for name in case.data}
        for term in (KGB.referenceText, KGB.referenceSet):
            yield from _unknown(term, fields[term], data, "case")
        if fields[KGB.referenceSet] and not fields[KGB.judgedSet]:
            yield f"{compact(KGB.referenceSet)} has no effect without {compact(KGB.judgedSet)}"
        if fields[KGB.judgedText] or fields[KGB.judgedSet]:
            verdicts = judge([JudgeRequest(case, (module.reference(case),)) for case in cases])
            infos = {name for verdict in verdicts for name in verdict.infos}
            for term in (KGB.judgedText, KGB.judgedSet):
                if infos.isdisjoint(fields[term]):  # infos need only one of several fields
                    yield from _unknown(term, fields[term], infos, "verdict on a reference answer")


def _unknown(term: str, names: list[str], known: set[str], holder: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"no {holder} has the field '{name}' of {compact(term)}: {nearest(name, known)}"
