# SPDX-License-Identifier: Apache-2.0
"""The fields that a declaration names for comparing answers with what was expected."""

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
    """Each field is one that cases, or the infos of verdicts on reference answers, have.

    A page would pass over a misspelt one, and show no difference.
    """
    declared = Declared(declaration)
    for node in declared.instances(KGB.TaskClass):
        named = {
            term: [value.value for value in declared.objects(node, term)]
            for term in (KGB.referenceText, KGB.referenceSet, KGB.judgedText, KGB.judgedSet)
        }
        data = {name for case in cases for name in case.data}
        for term in (KGB.referenceText, KGB.referenceSet):
            yield from _unknown(term, named[term], data, "case")
        if named[KGB.referenceSet] and not named[KGB.judgedSet]:
            yield f"{compact(KGB.referenceSet)} has no effect without {compact(KGB.judgedSet)}"
        if named[KGB.judgedText] or named[KGB.judgedSet]:
            verdicts = judge([JudgeRequest(case, (module.reference(case),)) for case in cases])
            infos = {name for verdict in verdicts for name in verdict.infos}
            for term in (KGB.judgedText, KGB.judgedSet):
                if infos.isdisjoint(named[term]):  # of several, infos may have one or another
                    yield from _unknown(term, named[term], infos, "verdict on a reference answer")


def _unknown(term: str, names: list[str], known: set[str], what: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"no {what} has the field '{name}' of {compact(term)}: {nearest(name, known)}"
