# SPDX-License-Identifier: Apache-2.0
"""Prompts show ontology, suitable examples and sentence; no example repeats the sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.datasets import home, text2kgbench
from kgbench.datasets.text2kgbench import Part, Sentence
from kgbench.errors import TaskError
from kgbench.families.text2kg import Chooser, content_of, part_cases, shown_relations
from kgbench.families.Text2KG.judge import family as text2kg
from kgbench.families.text2kg_turtle import read_facts, written_facts, written_ontology
from kgbench.families.Text2KGRdf.judge import family as text2kg_rdf
from kgbench.importers.text2kgbench_catalogue import part_task
from kgbench.model import Case, Outcome
from kgbench.scoring.facts import Concept, Fact, Ontology, Relation, facts_json
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from tests.support import text2kg_data

RELATION = re.compile(r"([^,()]+(?:, [^,()]+)*)\(([^,()]*), ?([^()]*)\)")
WORDS = re.compile(r"\w+")


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """Return the invented ontology with its sentences."""
    return text2kgbench.read_part(text2kg_data.write(tmp_path), "wikidata_tekgen", "bridge")


def words(text: str) -> str:
    """Return the words of a text, by which an example is compared with its test sentence."""
    return "".join(WORDS.findall(text.lower()))


def case_of(part: Part, number: int = 0, **parameters: object) -> Case:
    """Return the case of one test sentence."""
    task = part_task(part, "test", prompt="revised")
    changed = {**task.parameters, **parameters}
    return part_cases(catalogue.make_task("Text2KG", "x", changed), "s", part)[number]


def test_four_parts(part: Part) -> None:
    """A prompt has instruction, ontology, example and test sentence, in this order."""
    prompt = text2kg.prompt(case_of(part))
    order = [
        *("relation(subject, object)", "Concepts: bridge, river, person"),
        *("spans(bridge, river)", "opened_on(bridge, )", "named_after(bridge, )"),
        *("spans(Moss Bridge, Ure)", text2kg_data.TRUTH[0][0]),
    ]
    places = [prompt.index(each) for each in order]
    assert places == sorted(places)


@pytest.mark.parametrize("selection", ["similarity-list", "lexical"])
def test_no_sentence_is_its_own_example(part: Part, selection: str) -> None:
    """A training sentence with the words of the test sentence is skipped."""
    case = case_of(part, 1, exampleSelection=selection, examples=9)
    examples = [text for text, _ in content_of(case).examples]
    assert examples
    assert words(part.test[1].text) not in map(words, examples)


def test_records_of_one_sentence_are_one_example(part: Part) -> None:
    """Training records of the same sentence give one example with all their facts."""
    case = case_of(part, 0, examples=9)
    assert [len(facts) for _, facts in content_of(case).examples] == [1, 2]


def test_lexical_similarity_prefers_shared_rare_words(part: Part) -> None:
    """The nearest sentence shares the most distinctive words."""
    near = Sentence("x", "Who was Iva Rusk?", ())
    (example,) = Chooser(part, "lexical", 1).examples(near)
    assert example.text == "Iva Rusk drew Kiln Bridge."


def test_no_examples(part: Part) -> None:
    """Without examples the prompt has no such part."""
    for parameters in ({"examples": 0}, {"exampleSelection": "none"}):
        assert "# Example" not in text2kg.prompt(case_of(part, **parameters))


def test_missing_lists_are_named(part: Part) -> None:
    """A missing similarity list is refused by name."""
    with pytest.raises(TaskError, match="no lists 'embeddings'"):
        case_of(part, exampleSelection="embeddings")


def test_a_sentence_without_a_list_is_named(part: Part) -> None:
    """A similarity list without an entry for a test sentence is refused by name."""
    lists = {"similarity-list": dict(part.similar("similarity-list"))}
    del lists["similarity-list"][part.test[1].id]
    chooser = Chooser(replace(part, lists=lists), "similarity-list", 1)
    assert chooser.examples(part.test[0])
    with pytest.raises(TaskError, match=f"have no entry for {part.test[1].id}"):
        chooser.examples(part.test[1])
    with pytest.raises(TaskError, match=f"have no entry for {part.test[1].id}"):
        case_of(replace(part, lists=lists), 0)


def test_cases_are_made_when_they_are_asked_for(
    part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting cases generates none of them, and each case is the same every time."""
    made: list[str | None] = []
    make_case = catalogue.make_case

    def noted(*given: Any) -> Case:
        case = make_case(*given)
        made.append(case.uid)
        return case

    monkeypatch.setattr(catalogue, "make_case", noted)
    cases = part_cases(part_task(part, "test", prompt="revised"), "s", part)
    assert len(cases) == len(part.test)
    assert made == []
    assert cases[1] == cases[1]
    assert made == [part.test[1].id] * 2


def test_data_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of a data set that is not installed says how to install it."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    task = catalogue.make_task("Text2KG", "x", {"dataset": "wikidata_tekgen", "ontology": "movie"})
    with pytest.raises(TaskError, match="kgbench datasets install text2kgbench"):
        text2kg.cases(task, "s", 0, 1)


LARGE = Ontology(
    "large",
    "Large",
    tuple(Concept(f"C{k}", f"concept {k}") for k in range(200)),
    (
        *(Relation(f"R{k}", f"relation number {k}", f"C{k}", f"C{k + 1}") for k in range(198)),
        Relation("B", "bridge builder", "C1", "C2"),
    ),
)


def test_large_ontologies_are_cut_to_what_is_relevant() -> None:
    """Within the budget the relations that share the most words with the sentence are shown."""
    shown = shown_relations(LARGE, "The builder of this bridge is unknown.", 400)
    assert shown is not None
    assert LARGE.relations[shown[-1]].label == "bridge builder"
    assert 1 < len(shown) < 20


def test_small_ontologies_are_shown_whole() -> None:
    """Without a budget, or with a sufficient one, the whole ontology is shown."""
    assert shown_relations(LARGE, "x", 0) is None
    assert shown_relations(LARGE, "x", 10**6) is None


@given(st.integers(1, 3000), st.text(max_size=30), st.integers(0, 3))
def test_selection_is_the_same_each_time(budget: int, sentence: str, seed: int) -> None:
    """For one seed the same relations are shown, at least one, in the order of the ontology."""
    shown = shown_relations(LARGE, sentence, budget, seed)
    assert shown == shown_relations(LARGE, sentence, budget, seed)
    assert shown
    assert shown == sorted(set(shown))


def test_what_is_shown_is_recorded(part: Part) -> None:
    """A case with a budget records the relations that its prompt shows."""
    case = case_of(part, ontologyBudget=30)
    assert case.data["shownRelations"] == [0]
    assert "designed_by(bridge" not in text2kg.prompt(case)
    assert len(content_of(case).ontology.relations) == len(text2kg_data.ONTOLOGY["relations"])


def test_turtle_form_says_the_same(part: Part) -> None:
    """Expected facts written as Turtle are read back as the same facts with their classes."""
    executor = PlainExecutor()
    facts = part.test[0].facts
    parsed = executor.parse(written_facts(facts, part.ontology), "turtle")
    assert parsed.triples is not None, parsed.error
    found = read_facts(parsed.triples, part.ontology)
    expected = {(f.subject, f.relation.replace(" ", "_"), f.object) for f in facts}
    assert set(found.triples) == expected
    assert found.types == {"larnbridge": {"Q1"}, "ossel": {"Q2"}, "miraholt": {"Q3"}}


NAMES = st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable() and text.strip())


@given(NAMES, NAMES, NAMES)
def test_any_names_survive_turtle(concept: str, relation: str, entity: str) -> None:
    """Ids and names of any characters give valid Turtle, which is read back unchanged."""
    ontology = Ontology(
        "o", "O", (Concept(concept, "c"),), (Relation(relation, "r", concept, concept),)
    )
    executor = PlainExecutor()
    assert executor.parse(written_ontology(ontology), "turtle").error is None
    parsed = executor.parse(written_facts([Fact(entity, "r", entity)], ontology), "turtle")
    assert parsed.triples is not None, parsed.error
    assert read_facts(parsed.triples, ontology).triples == ((entity, "r", entity),)


def test_lone_surrogates_do_not_end_in_an_error() -> None:
    """A case with lone surrogates can be asked and answered."""
    ontology = Ontology(
        *("o\udc80", "O"),
        (Concept("c\ud800", "c\ud800"), Concept("c\ud801", "d")),
        (
            Relation("r\ud800", "knows\ud800", "c\ud800", "c\ud801"),
            Relation("s", "says", "c\ud800", ""),
        ),
    )
    facts = [Fact("Ann\ud800", "knows\ud800", "Bob\ud801"), Fact("Bob\ud801", "says", "x\udfff")]
    data = {
        "sentence": "Ann\ud800 knows\ud800 Bob\ud801 who says x\udfff.",
        "triples": facts_json(facts),
        "ontology": ontology.as_json(),
        "examples": [["Bob\ud801.", facts_json(facts)]],
    }
    case = catalogue.make_case("s", "Text2KGRdf", {}, data, "u\ud800")
    parsed = PlainExecutor().parse(written_ontology(ontology), "turtle")
    assert len({line.split()[0] for line in parsed.triples or ()}) == 4
    assert "\ufffd" in text2kg_rdf.prompt(case)
    answer = text2kg_rdf.reference(case)
    assert not any("\ud800" <= character <= "\udfff" for character in answer)
    scores = text2kg_rdf.judge(case, [answer], PlainExecutor()).scores
    assert (scores["f1"], scores["onto_conf"], scores["parsable"]) == (1.0, 1.0, 1.0)
    assert (scores["sub_halluc"], scores["obj_halluc"]) == (0.0, 0.0)
    hostile = answer.replace("relation:s ", "\ud800 ")
    assert text2kg_rdf.judge(case, [hostile], PlainExecutor()).scores["parsable"] == 0.0
    plain = catalogue.make_case("s", "Text2KG", {"cleaning": "strip"}, data, "u\ud800")
    assert "\ud801" in text2kg.prompt(plain)
    answers = [text2kg.reference(plain)]
    assert text2kg.judge(plain, answers, PlainExecutor()).outcome is Outcome.SCORED


def test_what_is_outside_the_ontology_is_left_out() -> None:
    """Facts of unknown relations are not written, and classes outside the ontology are not read."""
    ontology = Ontology("o", "O", (Concept("c", "c"),), (Relation("r", "r", "c", "c"),))
    text = written_facts([Fact("a", "r", "b"), Fact("a", "unknown", "z")], ontology)
    assert "unknown" not in text
    assert "z" not in text
    more = f"{text}\n<http://example.org/entity/a> a <urn:other>, [] ; <urn:p> 1 ."
    parsed = PlainExecutor().parse(more, "turtle")
    assert parsed.triples is not None, parsed.error
    found = read_facts(parsed.triples, ontology)
    assert found.types == {"a": {"c"}, "b": {"c"}}
    assert set(found.triples) == {("a", "r", "b"), ("a", "urn:p", "1")}


def test_both_forms_have_the_same_cases(part: Part) -> None:
    """The Turtle form has the same sentences, uids and facts."""
    verbal = part_cases(part_task(part, "test", prompt="revised"), "s", part)
    turtle = part_cases(part_task(part, "test", "Text2KGRdf"), "s", part)
    assert [c.uid for c in verbal] == [c.uid for c in turtle]
    assert [content_of(c).truth for c in verbal] == [content_of(c).truth for c in turtle]


@pytest.mark.parametrize(
    ("answer", "f1", "parsable"),
    [
        ("", 0.0, 0.0),
        ("<a", 0.0, 0.0),
        ("```turtle\n<e:a> <e:b> <e:c> .\n```", 0.0, 1.0),
    ],
)
def test_turtle_answers_that_say_nothing(
    part: Part, answer: str, f1: float, parsable: float
) -> None:
    """An answer that does not parse has no facts; one with other properties scores 0."""
    case = part_cases(part_task(part, "test", "Text2KGRdf"), "s", part)[0]
    scores = text2kg_rdf.judge(case, [answer], PlainExecutor()).scores
    assert (scores["f1"], scores["parsable"]) == (f1, parsable)


def sections(prompt: str) -> tuple[str, list[tuple[str, str, str]], str, list[str], str]:
    """Return concepts, relations, example sentence, its facts and test sentence of a prompt."""
    ontology, _, rest = prompt.partition("# Example\n\nSentence: ")
    example, _, test = rest.partition("\n\n# Test sentence\n\n")
    sentence, _, facts = example.partition("\nFacts:\n")
    _, _, relations = ontology.partition("Relations, each with its domain and range:\n")
    concepts = ontology.partition("Concepts: ")[2].partition("\n")[0]
    found = [RELATION.fullmatch(line) for line in relations.strip().split("\n")]
    parsed = [match.groups() for match in found if match is not None]
    return concepts, parsed, sentence, facts.split("\n"), test.rpartition("\n\n# Facts")[0]


def published(prompt: str) -> tuple[str, list[tuple[str, str, str]], str, list[str], str]:
    """Return the same parts of a published prompt."""
    ontology, _, rest = prompt.partition("\n\nExample Sentence: ")
    example, _, test = rest.partition("\n\nTest Sentence: ")
    sentence, _, facts = example.partition("\nExample Output:\n")
    concepts, _, relations = ontology.partition("Ontology Concepts: ")[2].partition("\n")
    written = relations.partition("Ontology Relations: ")[2].strip()
    each = (found.lstrip(", ") for found in re.findall(r"[^()]+\([^()]*\)", written))
    parsed = [match.groups() for match in map(RELATION.fullmatch, each) if match is not None]
    return concepts.rstrip(","), parsed, sentence, facts.split("\n"), test.rpartition("\nTest")[0]


def alike(facts: list[str]) -> list[str]:
    """Return facts with spaces for the underscores of the published prompts."""
    return [fact.replace("_", " ").strip() for fact in facts]


def published_prompts(folder: Path) -> Iterator[tuple[Part, dict[str, str]]]:
    """Return each DBpedia-WebNLG ontology with its published prompts by sentence id."""
    for collection, name in text2kgbench.parts(folder):
        if collection == "dbpedia_webnlg":
            part = text2kgbench.read_part(folder, collection, name)
            path = folder / collection / "baselines/prompts" / f"{part.ontology.id}_prompts.jsonl"
            with path.open(encoding="utf-8") as file:
                records = map(json.loads, file)
                yield part, {record["id"]: record["prompt"] for record in records}


@pytest.mark.external
def test_prompts_have_the_content_of_the_published_ones(external_data: Path) -> None:
    """All 2,014 published prompts have the same concepts, relations, examples and sentences."""
    compared = 0
    for part, prompts in published_prompts(external_data / "text2kgbench"):
        for case in part_cases(part_task(part, "test", prompt="revised"), "s", part):
            ours, theirs = sections(text2kg.prompt(case)), published(prompts[str(case.uid)])
            assert ours[0] == theirs[0], case.uid
            assert ours[1] == theirs[1], case.uid
            assert ours[2] == theirs[2].strip(), case.uid
            assert alike(ours[3]) == alike(theirs[3]), case.uid
            assert ours[4] == theirs[4], case.uid
            compared += 1
    assert compared == 2_014


@pytest.mark.external
def test_no_published_sentence_is_its_own_example(external_data: Path) -> None:
    """In all 6,250 cases of both collections no example has the words of the test sentence."""
    seen = 0
    folder = external_data / "text2kgbench"
    for place in text2kgbench.parts(folder):
        part = text2kgbench.read_part(folder, *place)
        for split in ("test", "unseen"):
            if not getattr(part, split):
                continue
            for case in part_cases(part_task(part, split, prompt="revised"), "s", part):
                content = content_of(case)
                assert words(content.sentence) not in [words(t) for t, _ in content.examples]
                seen += 1
    assert seen == 6_250
