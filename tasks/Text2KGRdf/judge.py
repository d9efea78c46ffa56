# SPDX-License-Identifier: Apache-2.0
"""Text2KGRdf: the task of Text2KG with ontology and facts in Turtle.

Cases, expected facts and metrics are those of Text2KG, so that a model's
answers in both forms can be compared sentence by sentence (cases with the same uid).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kgbench.api import Case, Executor, Json, Verdict, fenced_blocks, outcome
from kgbench.families import text2kg
from kgbench.families.text2kg import Text2KGFamily, content_of
from kgbench.families.text2kg_turtle import (
    read_facts,
    storable_facts,
    written_facts,
    written_ontology,
)
from kgbench.rdf import storable
from kgbench.scoring.fact_extraction import own_scores, published_scores

_LONGEST_MESSAGE: Final = 500


class Text2KGRdf(Text2KGFamily):
    """Sentences whose facts are written in Turtle."""

    def prompt(self, case: Case) -> str:
        """Return instruction, ontology, examples and test sentence of ``case``."""
        content = content_of(case)
        examples = [
            f"# Example\n\n{sentence}\n\n{_fenced(written_facts(facts, content.ontology))}\n\n"
            for sentence, facts in content.examples
        ]
        return self.text(
            "prompt-rdf",
            ontology=written_ontology(content.prompt_ontology),
            examples="".join(examples),
            sentence=content.sentence,
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Parse the answer's Turtle and score its facts; an answer that does not parse has none."""
        answer = answers[-1]
        content = content_of(case)
        blocks = fenced_blocks(answer)
        document = "\n".join(block.body for block in blocks) if blocks else answer
        parsed = executor.parse(document, "turtle")
        facts = read_facts(parsed.triples or (), content.ontology)
        truth, sentence = storable_facts(content.truth), storable(content.sentence).value
        scores = published_scores(facts.triples, truth, sentence, content.ontology)
        scores |= own_scores(facts.triples, truth, sentence, content.ontology, facts.types)
        scores["parsable"] = float(parsed.triples is not None and bool(answer.strip()))
        infos: dict[str, Json] = {
            "answerFacts": len(facts.triples),
            "facts": [list(triple) for triple in facts.triples[: text2kg.MOST_RECORDED]],
        }
        if parsed.error is not None:
            infos["syntaxError"] = parsed.error[:_LONGEST_MESSAGE]
        return Verdict(scores, infos, outcome(answer, usable=bool(facts.triples)))

    def reference(self, case: Case) -> str:
        """Return the expected facts that the ontology can express, in Turtle."""
        content = content_of(case)
        return _fenced(written_facts(content.truth, content.ontology))


family: Final = Text2KGRdf(__file__)


def _fenced(turtle: str) -> str:
    return f"```turtle\n{turtle}\n```"
