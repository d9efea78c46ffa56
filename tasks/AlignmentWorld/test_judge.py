# SPDX-License-Identifier: Apache-2.0
"""Alignments of two ontologies: unique, coherent, and judged by correspondences."""

from __future__ import annotations

import re
from itertools import permutations

import pyoxigraph as ox
import pytest

from kgbench.api import OWL, RDF, RDFS, Outcome, PlainExecutor
from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.families.AlignmentWorld import judge
from kgbench.families.AlignmentWorld.cases import FIRST, SECOND
from kgbench.worlds.model import absent_properties, load_model, synonyms
from kgbench.worlds.rows import is_rigid
from tests.execution.judging import harm
from tests.support.families import cases, generated

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, 6)
LABELS = generated()[NAME]
LABEL, TYPE = f"<{RDFS.label}>", f"<{RDF.type}>"
HEAD = f"@prefix a: <{FIRST}> . @prefix b: <{SECOND}> . @prefix owl: <{OWL}> ."
MANY = range(20_000)


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a list of axioms."""
    return family.judge(case, [fenced(axioms) for axioms in answers], PlainExecutor())


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


def every(case):
    """Return all pairs of classes, and of properties of one sort."""
    first, second = (judge._sorts(one) for one in case.data["triples"])
    return [
        f"{a} <{judge._AXIOMS[sort]}> {b}"
        for a, sort in first.items()
        for b, other in second.items()
        if sort == other
    ]


@pytest.mark.parametrize("label", LABELS)
def test_ontologies_agree_in_what_corresponds(label):
    """The triples about partners are equal under the right correspondences.

    The Turtle texts contain exactly the triples of the case, and no correspondence.
    """
    for case in cases(label, 5):
        for text, lines in zip(
            (case.data["first"], case.data["second"]), case.data["triples"], strict=True
        ):
            assert {str(q.triple) for q in ox.parse(text, ox.RdfFormat.TURTLE)} == set(lines)
        prompt = family.prompt(case)
        assert prompt.count("owl:equivalentClass") == prompt.count("owl:equivalentProperty") == 2
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
        strangers = {cell for row in rows(case, 1) for cell in row if SECOND in cell}
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
        told = frozenset(tuple(hidden.get(cell, cell) for cell in row) for row in rows(case, 1))
        assert hidden
        assert is_rigid(told)


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
            sizes = [len(judge._sorts(one)) for one in case.data["triples"]]
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
            assert re.fullmatch(rf"<{FIRST}[cp]\d+>", a)
            assert re.fullmatch(rf"<{SECOND}[cp]\d+>", b)


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
    """Missing ones lower recall, without a further prompt; direction and declarations are free."""
    (case,) = cases(f"{NAME}-opaque-1", 1)
    turned = [" ".join(reversed(row.split(" "))) for row in case.data["axioms"]]
    declaring = [f"{a} {TYPE} <{OWL.Class}>" for a in partners(case)]
    part = judged(case, turned[: len(turned) // 2])

    assert part.scores["precision"] == part.scores["coherent"] == 1.0
    assert 0.4 < part.scores["recall"] < 0.6
    assert part.next_prompt is None
    assert len(part.infos["missed"]) == len(turned) - len(turned) // 2
    assert judged(case, [*turned, *declaring]).scores["exact"] == 1.0


def test_following_labels_is_incoherent_on_level_5():
    """Following equal labels on level 5 mixes up disjoint classes, and feedback says so."""
    incoherent = 0
    for case in cases(f"{NAME}-natural-5", 6):
        first, second = labels(case, 0), labels(case, 1)
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
            assert verdict.infos["clash"] in verdict.next_prompt
    assert incoherent >= 4


def test_two_partners_are_named():
    """An answer with two partners for one class or property is asked for again."""
    (case,) = cases(f"{NAME}-natural-4", 1)
    axioms = case.data["axioms"]
    properties = [row.split(" ") for row in axioms if "equivalentProperty" in row]
    sorts = judge._sorts(case.data["triples"][0])
    one, other = next((x, y) for x, y in permutations(properties, 2) if sorts[x[0]] == sorts[y[0]])
    verdict = judged(case, [*axioms, f"{one[0]} {one[1]} {other[2]}"])

    assert verdict.scores["oneToOne"] == 0.0
    assert verdict.scores["recall"] == 1.0 > verdict.scores["precision"]
    assert "more than one partner" in verdict.next_prompt


@pytest.mark.parametrize(
    "wrong",
    [
        f"<{FIRST}Nowhere> <{OWL.equivalentClass}> <{SECOND}Nothing>",
        f"<{FIRST}Person> <{OWL.sameAs}> <{SECOND}Place>",
        f"<{FIRST}Person> <{OWL.equivalentClass}> <{FIRST}Person>",
        f'<{FIRST}Person> <{RDFS.label}> "person"',
    ],
)
def test_what_is_no_correspondence_is_named(wrong):
    """Triples with unknown names or other properties count and are asked for again."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    answer = [*case.data["axioms"], wrong]
    verdict = judged(case, answer)

    assert verdict.scores["precision"] < verdict.scores["recall"] == 1.0
    assert verdict.scores["exact"] == 0.0
    assert wrong in verdict.next_prompt
    assert judged(case, answer, answer, answer).next_prompt is None


def test_a_document_without_correspondences_is_asked_for_again():
    """The model is told that its answer has none; it has no points."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, ["@prefix a: <urn:a>"])

    assert verdict.outcome is Outcome.UNPARSABLE
    assert verdict.scores["f1"] == verdict.scores["coherent"] == verdict.scores["oneToOne"] == 0.0
    assert verdict.feedback == "format"


def test_everything_with_everything_is_worth_little():
    """All pairs of one sort have full recall only; too many steps are judged within limits."""
    few, many = (cases(f"{NAME}-natural-{level}", 1)[0] for level in (3, 4))
    (verdict,) = judge_batch([JudgeRequest(many, (fenced(every(many)),))], harm.LIMITS)

    assert judged(few, every(few)).scores["recall"] == 1.0
    assert judged(few, every(few)).scores["precision"] < 0.2
    assert verdict.outcome is Outcome.SCORED
    assert verdict.scores["f1"] < 0.3
    assert (verdict.scores["coherent"], verdict.scores["oneToOne"]) == (0.0, 0.0)


def test_hostile_answers_do_no_harm():
    """Documents that are large, deep, broken, or about remote resources have no correspondences."""
    documents = [
        " ".join(f"a:x{n} owl:equivalentClass b:y{n} ." for n in MANY),
        "a:Person owl:equivalentClass " + " , ".join(f"b:c{n}x" for n in MANY) + " .",
        "a:Person owl:equivalentClass " + "[ owl:complementOf " * 300 + "b:x" + " ]" * 300 + " .",
        "a:Person owl:equivalentClass " + "[ owl:complementOf " * 20_000 + " .",
        "a:Person owl:equivalentClass ( " + "b:x " * 20_000 + ") .",
        f"<{harm.URL}> owl:imports <{harm.URL}> . a:Person owl:equivalentClass <{harm.URL}> .",
        "owl:equivalentClass owl:equivalentClass owl:equivalentClass .",
        f'a:Person owl:equivalentClass "{"x" * 1_000_000}" .',
        "a:Person owl:equivalentClass <<( a:Person owl:sameAs b:x )>> .",
        "a:Person owl:equivalentClass a:Person , a:Place . b:x owl:equivalentClass b:x .",
        "a:Person owl:sameAs a:Place . owl:sameAs owl:sameAs owl:differentFrom .",
    ]
    refused = [f"```turtle\n{HEAD}\n{document}\n```" for document in documents]
    harm.assert_harmless([f"{NAME}-natural-{level}" for level in (2, 4)], [], refused)
