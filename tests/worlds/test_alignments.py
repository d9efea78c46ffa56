# SPDX-License-Identifier: Apache-2.0
"""Alignments of two ontologies: unique, coherent, and judged by correspondences."""

from __future__ import annotations

import re
from itertools import permutations

import pyoxigraph as ox
import pytest

from kgbench.model import Outcome
from kgbench.tasks import world_alignments
from kgbench.testing.executor import PlainExecutor
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds import alignments
from kgbench.worlds.matching import is_rigid
from kgbench.worlds.model import absent_properties, load_model, synonyms
from tests.support.families import cases

NAME = world_alignments.NAME
LEVELS = range(1, alignments.LEVELS + 1)
LABELS = [f"{NAME}-{names}-{level}" for names in ("natural", "opaque") for level in LEVELS]
LABEL, TYPE = f"<{RDFS.label}>", f"<{RDF.type}>"


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a text or a list of axioms."""
    texts = [one if isinstance(one, str) else fenced(one) for one in answers]
    return world_alignments.judge(case, texts, PlainExecutor())


def fenced(axioms):
    """Return axioms as an answer."""
    return "\n".join(["```turtle", *(f"{one} ." for one in axioms), "```"])


def labels(case, place):
    """Return the labels of the classes and properties of an ontology by name."""
    rows = [row.split(" ", 2) for row in case.data["triples"][place]]
    entities = {row[0] for row in rows if row[1] == TYPE and OWL.Class[:-5] in row[2]}
    return {row[0]: row[2] for row in rows if row[1] == LABEL and row[0] in entities}


def rows(case, place):
    """Return the triples of an ontology without its labels."""
    found = [tuple(row.split(" ", 2)) for row in case.data["triples"][place]]
    return frozenset(row for row in found if row[1] != LABEL)


def partners(case):
    """Return the right correspondences: names of the second ontology by names of the first."""
    return {a: b for a, _, b in (row.split(" ") for row in case.data["axioms"])}


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_correspondences(label):
    """A prompt has no correspondence, and names each relation twice."""
    for case in cases(label, 4):
        said = world_alignments.prompt(case)
        assert not [row for row in case.data["axioms"] if row in said]
        assert said.count("owl:equivalentClass") == said.count("owl:equivalentProperty") == 2


@pytest.mark.parametrize("label", LABELS)
def test_ontologies_agree_in_what_corresponds(label):
    """The triples about partners are equal under the right correspondences.

    The Turtle texts contain exactly the triples of the case.
    """
    for case in cases(label, 5):
        for text, lines in zip(
            (case.data["first"], case.data["second"]), case.data["triples"], strict=True
        ):
            assert {str(q.triple) for q in ox.parse(text, ox.RdfFormat.TURTLE)} == set(lines)
        names = partners(case)
        things = {row.split(" ", 2)[2]: row.split(" ")[0] for row in case.data["triples"][1]}
        first = rows(case, 0)
        entities = set(labels(case, 0)) | set(names)
        # Individuals correspond by their labels.
        for row in case.data["triples"][0]:
            subject, predicate, value = row.split(" ", 2)
            if predicate == LABEL and subject not in entities:
                names = {**names, subject: things[value]}
        own = {row for row in first if not (set(row) & entities) - names.keys()}
        moved = {tuple(names.get(cell, cell) for cell in row) for row in own}
        strangers = {cell for row in rows(case, 1) for cell in row if alignments.SECOND in cell}
        strangers -= set(names.values())
        assert moved == {row for row in rows(case, 1) if not set(row) & strangers}


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", [3, 4, 5])
def test_no_other_mapping_keeps_the_axioms(names, level):
    """Without a telling label, only one mapping keeps all triples."""
    for case in cases(f"{NAME}-{names}-{level}", 6):
        known = labels(case, 1) if level == 3 else {}
        hidden = {
            b: f"_:{place}" for place, b in enumerate(partners(case).values()) if b not in known
        }
        told_ = frozenset(tuple(hidden.get(cell, cell) for cell in row) for row in rows(case, 1))
        assert hidden
        assert is_rigid(told_)


def test_levels_have_what_they_are_said_to_have():
    """The levels have equal, synonymous, missing, no, and misleading labels."""
    model = load_model()
    words = {iri: kind.label for iri, kind in model.kinds.items()}
    words |= {one.iri: one.label for one in model.properties}
    known = {f"<{iri}>": label for iri, label in words.items()}
    without_partner = dict.fromkeys(LEVELS, 0)
    for level in LEVELS:
        for case in cases(f"{NAME}-natural-{level}", 8):
            names, first, second = partners(case), labels(case, 0), labels(case, 1)
            sizes = [len(world_alignments._sorts(one)) for one in case.data["triples"]]
            without_partner[level] += sum(sizes) - 2 * len(names)
            assert first == {name: f'"{known[name]}"@en' for name in first}
            if level == 1:
                for a, b in names.items():
                    core = known[a].replace(" ", "").lower()[:4]
                    assert core in second[b].replace(" ", "").replace("_", "").lower()
            if level in {2, 3}:
                texts = [second[b].split('"')[1] for b in names.values() if b in second]
                assert not set(texts) & set(words.values())
            if level == 3:
                missing = [b for b in names.values() if b not in second]
                assert len(names) / 4 < len(missing) < 3 * len(names) / 4
            if level == 4:
                assert not second
            assert bool(case.data["misleading"]) == (level == 5)
            if level == 5:
                wrong = {first[a] for a, b in names.items() if first[a] != second[b]}
                assert {f'"{one}"@en' for one in case.data["misleading"]} <= wrong
                assert len(case.data["misleading"]) >= 6
    assert without_partner[2] > 10
    assert without_partner[3] > 0
    assert without_partner[1] == without_partner[4] == without_partner[5] == 0


def test_opaque_names_tell_nothing():
    """Opaque names are numbers in both ontologies."""
    for level in LEVELS:
        (case,) = cases(f"{NAME}-opaque-{level}", 1)
        for a, b in partners(case).items():
            assert re.fullmatch(rf"<{alignments.FIRST}[cp]\d+>", a)
            assert re.fullmatch(rf"<{alignments.SECOND}[cp]\d+>", b)


def test_other_words_are_other_words():
    """Each term has two synonyms, and no synonym is used twice or is a term."""
    model = load_model()
    own = [kind.label for kind in model.kinds.values()]
    own += [kind.plural for kind in model.kinds.values()]
    own += [one.label for one in (*model.properties, *absent_properties())]
    others = [word for words in synonyms().values() for word in words]

    assert len(others) == len(set(others)) == 2 * len(synonyms())
    assert not set(own) & set(others)


def test_a_part_of_the_correspondences_has_points():
    """Missing correspondences lower recall, without a further prompt."""
    (case,) = cases(f"{NAME}-natural-2", 1)
    axioms = case.data["axioms"]
    verdict = judged(case, axioms[: len(axioms) // 2])

    assert verdict.scores["precision"] == verdict.scores["coherent"] == 1.0
    assert 0.4 < verdict.scores["recall"] < 0.6
    assert verdict.scores["exact"] == 0.0
    assert verdict.next_prompt is None
    assert len(verdict.infos["missed"]) == len(axioms) - len(axioms) // 2


def test_following_labels_is_incoherent_on_level_5():
    """Following equal labels on level 5 mixes up disjoint classes, and feedback says so."""
    incoherent = 0
    for case in cases(f"{NAME}-natural-5", 6):
        names, first, second = partners(case), labels(case, 0), labels(case, 1)
        by_label = {text: name for name, text in second.items()}
        wrong = []
        for row in case.data["axioms"]:
            a, predicate, b = row.split(" ")
            wrong.append(f"{a} {predicate} {by_label.get(first[a], b)}")
        verdict = judged(case, wrong)
        assert 0 < verdict.scores["f1"] < 1
        assert verdict.scores["oneToOne"] == 1.0
        if not verdict.scores["coherent"]:
            incoherent += 1
            assert "of OWL 2 RL" in verdict.next_prompt
            assert verdict.feedback == "content"
            assert verdict.infos["clash"] in verdict.next_prompt
        assert names
    assert incoherent >= 4


def test_two_partners_are_named():
    """An answer with two partners for one class or property is asked for again."""
    (case,) = cases(f"{NAME}-natural-4", 1)
    axioms = case.data["axioms"]
    properties = [row.split(" ") for row in axioms if "equivalentProperty" in row]
    sorts = world_alignments._sorts(case.data["triples"][0])
    one, other = next((x, y) for x, y in permutations(properties, 2) if sorts[x[0]] == sorts[y[0]])
    verdict = judged(case, [*axioms, f"{one[0]} {one[1]} {other[2]}"])

    assert verdict.scores["oneToOne"] == 0.0
    assert verdict.scores["recall"] == 1.0 > verdict.scores["precision"]
    assert "more than one partner" in verdict.next_prompt


def test_correspondences_may_be_written_the_other_way_round():
    """Direction, prefixes and declarations do not matter."""
    (case,) = cases(f"{NAME}-opaque-1", 1)
    turned = [" ".join(reversed(row.split(" "))) for row in case.data["axioms"]]
    declaring = [f"{a} {TYPE} <{OWL.Class}>" for a in partners(case)]

    assert judged(case, [*turned, *declaring]).scores["exact"] == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        f"<{alignments.FIRST}Nowhere> <{OWL.equivalentClass}> <{alignments.SECOND}Nothing>",
        f"<{alignments.FIRST}Person> <{OWL.sameAs}> <{alignments.SECOND}Place>",
        f"<{alignments.FIRST}Person> <{OWL.equivalentClass}> <{alignments.FIRST}Person>",
        f'<{alignments.FIRST}Person> <{RDFS.label}> "person"',
    ],
)
def test_what_is_no_correspondence_is_named(wrong):
    """Triples with unknown names or other properties count and are asked for again."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, [*case.data["axioms"], wrong])

    assert verdict.scores["precision"] < verdict.scores["recall"] == 1.0
    assert verdict.scores["exact"] == 0.0
    assert wrong in verdict.next_prompt
    assert judged(case, *3 * [[*case.data["axioms"], wrong]]).next_prompt is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("no block", "format"),
        ("```turtle\n@prefix a: <urn:a> .\n```", "format"),
        ("```turtle\na:b c\n```", "syntax"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again(answer, kind):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert verdict.scores["f1"] == verdict.scores["coherent"] == verdict.scores["oneToOne"] == 0.0
    assert verdict.feedback == kind
    assert verdict.next_prompt


def test_everything_with_everything_is_worth_little():
    """All pairs of one sort have full recall, but are neither coherent nor one-to-one."""
    (case,) = cases(f"{NAME}-natural-3", 1)
    first, second = (world_alignments._sorts(one) for one in case.data["triples"])
    every = [
        f"{a} <{world_alignments._AXIOMS[sort]}> {b}"
        for a, sort in first.items()
        for b, other in second.items()
        if sort == other
    ]
    verdict = judged(case, every)

    assert verdict.scores["recall"] == 1.0
    assert verdict.scores["precision"] < 0.2
    assert verdict.scores["oneToOne"] == verdict.scores["coherent"] == 0.0
