# SPDX-License-Identifier: Apache-2.0
"""The published suite asks the prompts of the published baselines, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgbench.datasets import home, text2kgbench, text2kgbench_prompts
from kgbench.datasets.text2kgbench import Part
from kgbench.errors import TaskError
from kgbench.families.text2kg import as_published, part_cases
from kgbench.families.Text2KG.judge import family as text2kg
from kgbench.importers import text2kgbench as importing
from kgbench.importers.text2kgbench_catalogue import part_task, part_tasks
from kgbench.model import Case
from kgbench.store.iris import Iris
from kgbench.tasks import catalogue
from tests.support import text2kg_data

COLLECTION = "wikidata_tekgen"
RELATIONS = (
    "spans(bridge,river), designed_by(bridge,person), opened_on(bridge,), named_after(bridge,)"
)
# Invented words with the white space of the three groups of prompts.
WRAPPED = "Take these \n    things. Then go. \n\nHERE:\n\nThings: "
PLAIN = "\nTake these things. Then go.\nHERE:\nThings: "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of invented data without prompts."""
    return text2kg_data.write(tmp_path / "data")


@pytest.fixture
def part(root: Path) -> Part:
    """Return its only ontology."""
    return text2kgbench.read_part(root, COLLECTION, "bridge")


def prompt_of(start: str, break_: str, facts: str, part: Part, k: int = 0) -> str:
    """Return an invented prompt in the published layout about test sentence ``k``."""
    example = text2kg_data.TRAIN[3][0]
    return (
        f"{start}bridge, river, person,\nTies: {RELATIONS}\n\nSay: {example}\nGot:{break_}{facts}"
        f"\n\nNow: {part.test[k].text}\nGives: "
    )


def write_prompts(root: Path, part: Part, prompt: str, suffix: str = ".jsonl") -> None:
    """Write the prompt of the first test sentence as in the data set."""
    path = root / COLLECTION / "baselines" / "prompts" / f"{part.ontology.id}_prompts{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": part.test[0].id, "prompt": prompt}) + "\n")


def cases(part: Part) -> list[Case]:
    """Return the cases of the published form."""
    return part_cases(part_task(part, "test"), "s", part)


def single(part: Part) -> str:
    """Return the facts of the example as in Wikidata's prompts."""
    example = text2kgbench_prompts.example_of(part, part.test[0])
    assert example is not None
    (fact,) = example.facts
    return f"{fact.relation.replace(' ', '_')}({fact.subject},{fact.object})"


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_the_wording_comes_from_a_prompt(root: Path, part: Part, suffix: str) -> None:
    """The wording of one published prompt gives all other prompts of its group."""
    write_prompts(root, part, prompt_of(PLAIN, " ", single(part), part), suffix)
    wording = text2kgbench_prompts.wording(root, COLLECTION, "test")
    assert wording is not None
    for k, case in enumerate(cases(part)):
        assert as_published(case, wording) == prompt_of(PLAIN, " ", single(part), part, k)


def test_groups_share_words_and_differ_in_white_space() -> None:
    """The wording of DBpedia's prompts gives that of the two other groups."""
    dbpedia = (WRAPPED, "\nTies: ", "\n\nSay: ", "\nGot:\n", "\n\nNow: ", "\nGives: ")
    laid_out = text2kgbench_prompts._with_white_space
    source = ("dbpedia_webnlg", "test")
    assert laid_out(dbpedia, source, source) == dbpedia
    unseen = laid_out(dbpedia, source, (COLLECTION, "unseen"))
    assert unseen == (*dbpedia[:3], "\nGot: ", *dbpedia[4:])
    plain = laid_out(dbpedia, source, (COLLECTION, "test"))
    assert plain == (PLAIN, *unseen[1:])
    assert laid_out(unseen, (COLLECTION, "unseen"), source) == dbpedia


def test_one_line_does_not_tell_where_others_break(root: Path, part: Part) -> None:
    """Prompts of Wikidata's test sentences alone give no wording for the other groups."""
    write_prompts(root, part, prompt_of(PLAIN, " ", single(part), part))
    assert text2kgbench_prompts.wording(root, COLLECTION, "unseen") is None
    assert text2kgbench_prompts.wording(root, "dbpedia_webnlg", "test") is None


def test_prompts_without_the_data_tell_nothing(root: Path, part: Part) -> None:
    """A prompt that does not contain its data gives no wording."""
    write_prompts(root, part, "What is said of bridges?")
    assert text2kgbench_prompts.wording(root, COLLECTION, "test") is None


def test_dbpedia_writes_facts_with_blanks(part: Part) -> None:
    """Each fact of the example has a line of its own, and a range that is no concept is shown."""
    asked = text2kgbench_prompts.PromptData(
        part.ontology,
        "e",
        (text2kgbench_prompts.Fact("a_b", "LCCN_number", "1"), *part.test[0].facts[:1]),
        "s",
    )
    _, relations, _, facts, _ = text2kgbench_prompts._data_texts("dbpedia_webnlg", asked)
    first, second = facts.split("\n")
    assert first == "LCCN number(a b, 1)"
    assert second.startswith("spans(Larn Bridge, ")
    ranges = {one.range for one in part.ontology.relations} - part.ontology.concept_labels.keys()
    assert all(f",{range_})" in relations for range_ in ranges)


def test_imported_responses_have_the_prompt(root: Path, part: Part) -> None:
    """An imported response without a prompt in the data gets its original prompt."""
    write_prompts(root, part, prompt_of(PLAIN, " ", single(part), part))
    data = importing.read(root)
    (run,) = importing.runs(root, data, Iris())
    prompts = [dialogue.turns[0].prompt for dialogue, _ in run.items]
    assert prompts == [prompt_of(PLAIN, " ", single(part), part, k) for k in range(3)]


def test_a_run_asks_the_published_prompt(
    root: Path, part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tasks of the installed data set ask it; without prompts the error says what to do."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "sets"))
    place = home.folder_of(text2kgbench.NAME)
    place.parent.mkdir(parents=True)
    root.rename(place)
    tasks = part_tasks(part)
    (place / home.RECORD).write_text(json.dumps({"name": text2kgbench.NAME, "tasks": tasks}))
    text2kgbench_prompts._installed.cache_clear()
    text2kgbench._installed.cache_clear()
    labels = catalogue.labelled_tasks()
    (case,) = text2kg.cases(labels["Text2KG-wikidata-bridge"], "s", 0, 1)
    with pytest.raises(TaskError, match="choose the tasks that end in -revised"):
        text2kg.prompt(case)
    revised = text2kg.cases(labels["Text2KG-wikidata-bridge-revised"], "s", 0, 1)[0]
    assert "# Ontology" in text2kg.prompt(revised)
    text2kgbench_prompts._installed.cache_clear()
    write_prompts(place, part, prompt_of(PLAIN, " ", single(part), part))
    assert text2kg.prompt(case) == prompt_of(PLAIN, " ", single(part), part)
    text2kgbench_prompts._installed.cache_clear()
    text2kgbench._installed.cache_clear()


@pytest.mark.parametrize(
    ("name", "value"),
    [("examples", 2), ("exampleSelection", "lexical"), ("ontologyBudget", 100)],
)
def test_the_published_form_has_no_other_settings(part: Part, name: str, value: object) -> None:
    """Settings that the published prompts fix cannot be changed in the published form."""
    task = part_task(part, "test")
    changed = catalogue.make_task("Text2KG", "x", {**task.parameters, name: value})
    with pytest.raises(TaskError, match=f"published prompts have the {name}"):
        part_cases(changed, "s", part)


def test_the_sample_has_no_published_prompt() -> None:
    """The sample data have no published prompt."""
    task = catalogue.make_task("Text2KG", "x", {"prompt": "published"})
    with pytest.raises(TaskError, match="the sample has no published prompts"):
        text2kg.cases(task, "s", 0, 1)


@pytest.mark.external
def test_published_prompts_come_out_again(external_data: Path) -> None:
    """Each published prompt of the data set is reproduced byte for byte."""
    folder = external_data / "text2kgbench"
    compared = 0
    for collection, name in text2kgbench.parts(folder):
        part = text2kgbench.read_part(folder, collection, name)
        for split in ("test", "unseen"):
            published = text2kgbench_prompts.prompts(folder, part, split)
            if not published:
                continue
            wording = text2kgbench_prompts.wording(folder, collection, split)
            assert wording is not None
            for case in part_cases(part_task(part, split), "s", part):
                assert as_published(case, wording) == published[str(case.uid)]
                compared += 1
    assert compared >= 2014
