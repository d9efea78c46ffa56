# SPDX-License-Identifier: Apache-2.0
"""Text2KG: extract the facts of a sentence that an ontology can express, as ``relation(a, b)``.

Published metrics: Mihindukulasooriya et al., Text2KGBench, ISWC 2023, section 4. ``task.ttl``
decides the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kgbench.api import Case, Executor, Json, Verdict, outcome
from kgbench.datasets.text2kgbench_prompts import installed_wording
from kgbench.families import text2kg
from kgbench.families.text2kg import Text2KGFamily, content_of
from kgbench.scoring import stems
from kgbench.scoring.fact_extraction import own_scores, published_scores
from kgbench.scoring.facts import CLEANINGS, Fact, parse

_ROUNDING_ERROR: Final = 0.005 + 1e-9  # published values have two decimals


class Text2KG(Text2KGFamily):
    """Sentences whose facts are written as ``relation(a, b)``."""

    def prompt(self, case: Case) -> str:
        """Return instruction, verbalised ontology, examples and test sentence of ``case``.

        Raises :class:`~kgbench.errors.TaskError` if the task uses the published prompts and the
        installed data set does not contain their wording.
        """
        content = content_of(case)
        if case.parameters.get("prompt") == text2kg.PUBLISHED:
            collection, split = case.parameters["dataset"], case.parameters["split"]
            wording = installed_wording(collection, "unseen" if split == "unseen" else "test")
            return text2kg.as_published(case, wording)
        return self.text(
            "prompt",
            concepts=", ".join(concept.label for concept in content.prompt_ontology.concepts),
            relations="\n".join(
                text2kg.verbalised_relation(content.ontology, relation)
                for relation in content.prompt_ontology.relations
            ),
            examples="".join(_example(*example) for example in content.examples),
            sentence=content.sentence,
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the facts of the answer by the published rules and by those of kgbench."""
        answer = answers[-1]
        cleaning = case.parameters.get("cleaning", "none")
        parsed = parse(answer, cleaning)
        content = content_of(case)
        scores = published_scores(parsed.triples, content.truth, content.sentence, content.ontology)
        scores |= own_scores(parsed.triples, content.truth, content.sentence, content.ontology)
        if parsed.lines:
            scores["unparsedRate"] = parsed.unparsed / parsed.lines
        infos: dict[str, Json] = {
            "answerFacts": len(parsed.triples),
            "cleaning": cleaning,
            "facts": [list(triple) for triple in parsed.triples[: text2kg.MOST_RECORDED]],
            "lines": parsed.lines,
            "unparsedLines": parsed.unparsed,
        }
        return Verdict(scores, infos, outcome(answer, usable=bool(parsed.triples)))

    def recorded_case(self, case: Case, infos: Sequence[Mapping[str, Json]]) -> Case:
        """Return ``case`` with the cleaning that an evaluation pass recorded in the ``infos``.

        Published facts were cleaned in different ways, even within one set of responses.
        """
        cleaning = next((item["cleaning"] for item in infos if "cleaning" in item), None)
        if not isinstance(cleaning, str) or cleaning not in CLEANINGS:
            return case
        if cleaning == case.parameters.get("cleaning", "none"):
            return case
        return text2kg.cleaned_case(case, cleaning)

    def explained(self, case: Case, answer: str, before: Mapping[str, float]) -> str | None:
        """Return the rule that reproduces published values ``before`` unlike the judge's."""
        content = content_of(case)
        own_cleaning = case.parameters.get("cleaning", "none")

        def reproduces(cleaning: str, stemming: Callable[[str], str]) -> bool:
            triples = parse(answer, cleaning).triples
            scores = published_scores(
                triples, content.truth, content.sentence, content.ontology, stemming
            )
            return all(
                abs(scores.get(name, value) - value) <= _ROUNDING_ERROR
                for name, value in before.items()
            )

        if reproduces(own_cleaning, stems.stemmed):
            return "rounding: the published values have two decimals"
        if reproduces(own_cleaning, stems.stemmed_by_sentence):
            return "sentence splitter: the published values tokenise each sentence by itself"
        for other in CLEANINGS:
            if reproduces(other, stems.stemmed) or reproduces(other, stems.stemmed_by_sentence):
                return f"cleaning: the published values are those of facts cleaned by '{other}'"
        return None

    def reference(self, case: Case) -> str:
        """Return the expected facts, one per line."""
        return _written(content_of(case).truth)


family: Final = Text2KG(__file__)


def _example(sentence: str, facts: Sequence[Fact]) -> str:
    return f"# Example\n\nSentence: {sentence}\nFacts:\n{_written(facts)}\n\n"


def _written(facts: Sequence[Fact]) -> str:
    return "\n".join(
        f"{fact.relation.replace(' ', '_')}({fact.subject}, {fact.object})" for fact in facts
    )
