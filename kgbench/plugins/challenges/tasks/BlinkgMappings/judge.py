# SPDX-License-Identifier: Apache-2.0
"""BlinkgMappings: write the mappings of the public scenario 1 of BLINKG.

Cases come from the installed data set ``blinkg``. The prompt adds the details of the expected graph
that neither files nor ontology contain: IRIs of instances, the classes and properties in use,
datatypes and languages. They are derived from the rules that map the files to the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import XSD, Case, Json, Task, TaskError
from kgbench.families.mapping_answers import MappingFamily, Produced, file_block
from kgbench.mapping.document import FORMULATION_OF
from kgbench.mapping.sources import Data
from kgbench.plugins.challenges import blinkg, induction
from kgbench.plugins.challenges.blinkg import Scenario
from kgbench.plugins.challenges.induction import Rule
from kgbench.policies.blank_nodes import RowComparison, compare_rows

_FILES: Final = "files"


class BlinkgMappings(MappingFamily):
    """Scenarios with files, an ontology and the expected graph."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return the scenarios with files in the format of ``task``, at most ``count``.

        Raises :class:`~kgbench.errors.TaskError` if the data set is not installed, or has no such
        scenario.
        """
        form = task.parameters["format"]
        chosen = [scenario for scenario in blinkg.installed() if scenario.form == form]
        if not chosen:
            raise TaskError(f"{blinkg.NAME} has no scenarios with files in the format '{form}'")
        return [self.case(task, suite, _data(scenario)) for scenario in chosen[:count]]

    def prompt(self, case: Case) -> str:
        """Return the files, the ontology, and graph details that neither contains."""
        form = case.parameters["format"]
        lists = {
            name: "\n".join(f"* {line}" for line in case.data[name])
            for name in ("classes", "properties")
        }
        files = (file_block(name, form, content) for name, content in case.data[_FILES].items())
        return self.text(
            "prompt",
            formulation=FORMULATION_OF[form],
            sources="\n\n".join(files),
            ontology=case.data["ontology"].strip("\n"),
            **lists,
        )

    def data(self, case: Case) -> Mapping[str, Data]:
        """Return the files."""
        return {_FILES: Data(case.data[_FILES], {})}

    def compare(
        self, case: Case, produced: Produced
    ) -> tuple[Mapping[str, float], Sequence[RowComparison]]:
        """Compare the graph of a mapping with the expected one, and with the published one."""
        rows = produced[_FILES]
        expected = [tuple(row) for row in case.data["expected"]]
        compared = compare_rows(expected, rows)
        published = compare_rows([*expected, *(tuple(row) for row in case.data["beyond"])], rows)
        return {**compared.agreement.named(), "publishedF1": published.agreement.f1}, [compared]


family: Final = BlinkgMappings(__file__)


def _data(scenario: Scenario) -> Mapping[str, Json]:
    return {
        "uid": scenario.name,
        _FILES: dict(scenario.files),
        "ontology": scenario.ontology,
        "classes": classes(scenario.rules),
        "properties": properties(scenario.rules),
        "expected": [list(row) for row in scenario.expected],
        "beyond": [list(row) for row in scenario.beyond],
        "mapping": induction.mapping(scenario.rules),
    }


def classes(rules: Sequence[Rule]) -> list[str]:
    """Return the classes of a graph, each with the IRI templates of its instances."""
    templates: dict[str, set[str]] = {}
    for rule in rules:
        if rule.is_type:
            templates.setdefault(rule.object.pieces[0], set()).add(
                induction.template_text(rule.subject)
            )
    return [f"<{name}>: {', '.join(sorted(templates[name]))}" for name in sorted(templates)]


def properties(rules: Sequence[Rule]) -> list[str]:
    """Return the properties of a graph, each with the kinds of its values."""
    kinds: dict[str, set[str]] = {}
    for rule in rules:
        if not rule.is_type:
            kinds.setdefault(rule.predicate, set()).add(_kind(rule))
    return [f"<{name}>: {', '.join(sorted(kinds[name]))}" for name in sorted(kinds)]


def _kind(rule: Rule) -> str:
    """Return the form, datatype or language of a rule's values, which a model could not guess."""
    kind, form = rule.kind, "…".join(rule.object.pieces)
    if kind.is_iri:
        return f"IRIs of the form {form}"
    if kind.language is not None:
        description = f"texts with the language {kind.language}"
    elif kind.datatype == XSD.string:
        description = "texts"
    else:
        description = f"values with the datatype <{kind.datatype}>"
    return description if form == "…" else f'{description} of the form "{form}"'
