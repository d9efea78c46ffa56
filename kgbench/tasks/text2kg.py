# SPDX-License-Identifier: Apache-2.0
"""Text2KG: extract the facts of a sentence that an ontology can express, as ``relation(a, b)``.

Published metrics: Mihindukulasooriya et al., Text2KGBench, ISWC 2023, section 4. ``task.ttl``
decides the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kgbench.datasets.text2kgbench_prompts import (
    PromptData,
    Wording,
    installed_wording,
    published_prompt,
)
from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.rdf import digest
from kgbench.scoring import stems
from kgbench.scoring.fact_extraction import published_scores
from kgbench.scoring.faithfulness import own_scores
from kgbench.scoring.ontology_facts import Fact
from kgbench.scoring.relation_triples import CLEANINGS, Triple, parse
from kgbench.tasks import text2kg_cases, texts
from kgbench.tasks.text2kg_cases import FOLDER, PUBLISHED, content_of
from kgbench.tasks.text2kg_selection import verbalised_relation

NAME = "Text2KG"

_ROUNDING_ERROR = 0.005 + 1e-9  # published values have two decimals
_MOST_RECORDED = 200  # facts of one answer that the infos list; all are scored


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Return the sentences of the data set and split of ``task``, at most ``count``."""
    return text2kg_cases.cases(task, suite, seed, count)


def prompt(case: Case) -> str:
    """Return the prompt: instruction, verbalised ontology, examples and test sentence of ``case``.

    Raises :class:`~kgbench.errors.TaskError` if the task uses the published prompts and the
    installed data set does not contain their wording.
    """
    content = content_of(case)
    if case.parameters.get("prompt") == PUBLISHED:
        collection, split = case.parameters["dataset"], case.parameters["split"]
        wording = installed_wording(collection, "unseen" if split == "unseen" else "test")
        return as_published(case, wording)
    return texts.filled(
        FOLDER,
        "prompt.txt",
        concepts=", ".join(concept.label for concept in content.prompt_ontology.concepts),
        relations="\n".join(
            verbalised_relation(content.ontology, relation)
            for relation in content.prompt_ontology.relations
        ),
        examples="".join(_example(*example) for example in content.examples),
        sentence=content.sentence,
    )


def as_published(case: Case, wording: Wording) -> str:
    """Return the prompt for ``case`` that was used for the published baselines.

    Raises :class:`~kgbench.errors.TaskError` if the case has no example.
    """
    content = content_of(case)
    if not content.examples:
        raise TaskError(f"the case {case.iri} has no example, which published prompts have")
    example, facts = content.examples[0]
    sentence = case.data.get("askedSentence", content.sentence)
    shown = PromptData(content.ontology, example, facts, sentence)
    return published_prompt(wording, case.parameters["dataset"], shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
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
        "facts": [list(triple) for triple in parsed.triples[:_MOST_RECORDED]],
        "lines": parsed.lines,
        "unparsedLines": parsed.unparsed,
    }
    return Verdict(scores, infos, outcome(answer, parsed.triples))


def recorded_case(case: Case, infos: Sequence[Mapping[str, Json]]) -> Case:
    """Return ``case`` with the cleaning that an evaluation pass recorded in the answer's ``infos``.

    Published facts were cleaned in different ways, even within one set of responses.
    """
    cleaning = next((item["cleaning"] for item in infos if "cleaning" in item), None)
    if not isinstance(cleaning, str) or cleaning not in CLEANINGS:
        return case
    if cleaning == case.parameters.get("cleaning", "none"):
        return case
    return cleaned_case(case, cleaning)


def cleaned_case(case: Case, cleaning: str) -> Case:
    """Return ``case`` with another ``cleaning`` of answers; only for judging."""
    parameters = {**case.parameters, "cleaning": cleaning}
    return replace(case, parameters=parameters, digest=digest(case.digest + cleaning))


def explained(case: Case, answer: str, before: Mapping[str, float]) -> str | None:
    """Return the rule that reproduces published values ``before`` that differ from the judge's."""
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


def outcome(answer: str, triples: Sequence[Triple]) -> Outcome:
    """Return the outcome of an answer: empty, without any fact, or scored."""
    if not answer.strip():
        return Outcome.EMPTY
    return Outcome.SCORED if triples else Outcome.UNPARSABLE


def reference(case: Case) -> str:
    """Return the reference answer: the expected facts, one per line."""
    return _written(content_of(case).truth)


def prepare() -> None:
    """Load tokeniser and stemmer for judging processes, which cannot open files."""
    stems.load()


def _example(sentence: str, facts: Sequence[Fact]) -> str:
    return f"# Example\n\nSentence: {sentence}\nFacts:\n{_written(facts)}\n\n"


def _written(facts: Sequence[Fact]) -> str:
    return "\n".join(
        f"{fact.relation.replace(' ', '_')}({fact.subject}, {fact.object})" for fact in facts
    )
