# SPDX-License-Identifier: Apache-2.0
"""Text2KGRdf: the task of Text2KG with ontology and facts in Turtle.

Cases, expected facts and metrics are those of :mod:`kgbench.tasks.text2kg`, so that a model's
answers in both forms can be compared sentence by sentence (cases with the same uid).
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.rdf import storable
from kgbench.scoring import stems
from kgbench.scoring.fact_extraction import published_scores
from kgbench.scoring.faithfulness import own_scores
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import text2kg_cases, texts
from kgbench.tasks.text2kg_cases import FOLDER, content_of
from kgbench.tasks.text2kg_turtle import read_facts, storable_facts, written_facts, written_ontology

NAME = "Text2KGRdf"

_MOST_RECORDED = 200  # facts of one answer that the infos list; all are scored
_LONGEST_MESSAGE = 500


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Return the sentences of the data set and split of ``task``, at most ``count``."""
    return text2kg_cases.cases(task, suite, seed, count)


def prompt(case: Case) -> str:
    """Return the prompt: instruction, ontology, examples and test sentence of ``case``."""
    content = content_of(case)
    examples = [
        f"# Example\n\n{sentence}\n\n```turtle\n{written_facts(facts, content.ontology)}\n```\n\n"
        for sentence, facts in content.examples
    ]
    return texts.filled(
        FOLDER,
        "prompt-rdf.txt",
        ontology=written_ontology(content.prompt_ontology),
        examples="".join(examples),
        sentence=content.sentence,
    )


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
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
        "facts": [list(triple) for triple in facts.triples[:_MOST_RECORDED]],
    }
    if parsed.error is not None:
        infos["syntaxError"] = parsed.error[:_LONGEST_MESSAGE]
    if not answer.strip():
        return Verdict(scores, infos, Outcome.EMPTY)
    return Verdict(scores, infos, Outcome.SCORED if facts.triples else Outcome.UNPARSABLE)


def reference(case: Case) -> str:
    """Return the reference answer: the expected facts that the ontology can express, in Turtle."""
    content = content_of(case)
    return f"```turtle\n{written_facts(content.truth, content.ontology)}\n```"


def prepare() -> None:
    """Load tokeniser and stemmer for judging processes, which cannot open files."""
    stems.load()
