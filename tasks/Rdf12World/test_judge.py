# SPDX-License-Identifier: Apache-2.0
"""RDF 1.2 about generated worlds: cases with one right graph or result."""

from __future__ import annotations

import random
import re
from collections import Counter

import pyoxigraph as ox
import pytest

from kgbench.api import RDF, EvaluationError, PlainExecutor, TaskError, World
from kgbench.execution.engines import engine
from kgbench.families.Rdf12World import judge, notations, questions, reports
from kgbench.policies.blank_nodes import compare_rows
from kgbench.worlds import misreadings
from tests.support import families
from tests.support.families import fenced, judged

family = judge.family
SKILLS = ("annotate", "direction", "repair", "query")
LEVELS = tuple(reports.RECIPES)
LABELS = [f"{skill}-{n}-{k}" for skill in SKILLS for n in ("natural", "opaque") for k in LEVELS]


def cases(label, count, seed=7):
    """Return the first cases of a labelled task, given its label without the class."""
    return families.cases(f"{family.NAME}-{label}", count, seed)


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_and_echoes_do_not_help(label):
    """A prompt has neither the right graph nor expected values; what it shows is no answer."""
    executor = PlainExecutor()
    for case in cases(label, 8):
        said = family.prompt(case)
        if "gold" in case.data:
            assert not [line for line in case.data["gold"] if line in said]
            echo = case.data["asked"] if "repair" in label else case.data["names"]
            assert judged(case, fenced(echo), executor=executor).scores["exact"] == 0
        else:
            assert case.data["refSparql"] not in said
            rows = executor.results(
                case.data["refSparql"], case.data["graph"], reports.PREFIXES
            ).rows
            assert not [
                value
                for one in rows
                for value in one
                if value.removeprefix('"').removesuffix('"') in said and "^^" not in value
            ]


@pytest.mark.parametrize("label", [one for one in LABELS if not one.startswith("query")])
def test_exact_is_what_canonical_forms_say(label):
    """Graphs are equal up to blank nodes exactly if RDFC-1.0 gives them the same form."""
    chance = random.Random(3)
    for case in cases(label, 6):
        gold = [quad.triple for quad in ox.parse("\n".join(case.data["gold"]), ox.RdfFormat.TURTLE)]
        for _ in range(12):
            given = _relabelled(gold, chance)
            if chance.random() < 0.7:
                given = _changed(given, chance)
            rows = [[judge.row(one) for one in graph] for graph in (gold, given)]
            compared = compare_rows(*rows)
            same = not compared.missing and not compared.surplus
            assert same == (_canonical(gold) == _canonical(given))


def _canonical(graph):
    dataset = ox.Dataset(ox.Quad(*one) for one in graph)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return set(dataset)


def _relabelled(graph, chance):
    """Return a graph with other names of blank nodes."""
    text = "\n".join(f"{one} ." for one in graph)
    names = sorted(set(re.findall(r"_:\w+", text)))
    others = dict(zip(names, chance.sample([f"_:x{k}" for k in names], len(names)), strict=True))
    text = re.sub(r"_:\w+", lambda match: others[match[0]].replace("_:x_:", "_:x"), text)
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE)]


def _changed(graph, chance):
    """Return a graph with a triple removed or added, or with two blank nodes merged."""
    kind = chance.randrange(3)
    if kind == 0:
        return graph[1:]
    if kind == 1:
        return [*graph, ox.Triple(ox.BlankNode(), ox.NamedNode("urn:p"), ox.Literal("x"))]
    text = "\n".join(f"{one} ." for one in graph)
    names = sorted(set(re.findall(r"_:\w+", text)))
    return [
        quad.triple
        for quad in ox.parse(
            text.replace(names[-1], names[0]) if names else text, ox.RdfFormat.TURTLE
        )
    ]


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", LEVELS)
def test_old_documents_are_not_what_they_mean(level, names):
    """An old document is refused by RDF 1.2; corrected in syntax only, it differs above level 1."""
    for case in cases(f"repair-{names}-{level}", 40):
        old = case.data["asked"]
        with pytest.raises(SyntaxError):
            list(ox.parse(old, ox.RdfFormat.TURTLE))
        half = re.sub(r"<<\( (.*?) \)>>\n", r"<< \1 >>\n", old)
        half = re.sub(r"<< (\S+) \| (.*?) >>", r"<< \2 ~ \1 >>", half)
        verdict = judged(case, fenced(half))
        if level == 1:
            assert verdict.scores["exact"] == 1
        else:
            assert 0 < verdict.scores["f1"] < 1


def test_all_kinds_of_cases_occur():
    """Every notation, direction and form of question of the generator occurs."""
    old = "\n".join(case.data["asked"] for case in cases("repair-natural-4", 40))
    for sign in ("<<(", "{|", " | ", "rdf:Statement", "i18n#", "<< << "):
        assert sign in old
    texts = "\n".join(case.data["asked"] for case in cases("direction-natural-4", 40))
    for sign in ('dir="auto"', 'lang=""', 'dir="rtl"', 'dir="ltr"', '">'):
        assert sign in texts
    gold = "\n".join("\n".join(one.data["gold"]) for one in cases("annotate-natural-4", 20))
    assert "<<( _:" in gold
    assert "--rtl" in gold
    counted = Counter(
        _form_of(case) for level in LEVELS for case in cases(f"query-natural-{level}", 40)
    )
    assert set(counted) == {form.__name__ for forms in questions._FORMS.values() for form in forms}
    assert min(counted.values()) > 3


@pytest.mark.parametrize(
    ("label", "mistakes"),
    [
        ("query-natural-2", {"DISTINCT ?statement": "?report"}),
        (
            "query-natural-3",
            {"BY ?statement ?name": "BY ?name", "DISTINCT ?source": "?source", "?y }": "?z }"},
        ),
        (
            "query-natural-4",
            {"?inner t:confidence ?conf": "?report t:confidence ?conf", "?y }": "?z }"},
        ),
    ],
)
def test_queries_that_misread_a_question_are_wrong(label, mistakes):
    """Confusing several statements of a thing, or several reports, gives another result."""
    made = Counter()
    for case in cases(label, 40):
        right = family.reference(case)
        for part, instead in mistakes.items():
            if part in right:
                made[part] += 1
                wrong = right.replace(part, instead)
                assert judged(case, wrong).scores["exact"] == 0.0, wrong
    assert min(made[part] for part in mistakes) > 3


@pytest.mark.parametrize("level", [2, 3, 4])
def test_bounds_and_counts_are_told_apart(level):
    """A bound that is exclusive, of the year or text, or left out, has another result."""
    made = Counter()
    for case in cases(f"query-natural-{level}", 4):
        query = case.data["refSparql"]
        wrong = {
            "exclusive": misreadings.exclusive(query),
            "type": misreadings.of_another_type(query),
            "all": misreadings.of_counts(query),
            "no bound": [re.sub(r"FILTER\(\?\w+ >= [^)]*\)", "", query)],
        }
        for name, texts in wrong.items():
            for text in texts:
                if text != query:
                    made[name] += 1
                    assert judged(case, f"```sparql\n{text}\n```").scores["exact"] == 0.0, text
    assert min(made[name] for name in ("exclusive", "type", "no bound")) > 0
    assert made["all"] or level > 2


def _form_of(case):
    """Return the form of a question, recognised by its query."""
    query = case.data["refSparql"]
    signs = {
        "FILTER(?property": "_reported_names",
        '?x rdfs:label "': "_sources",
        "COUNT(DISTINCT ?statement": "_counted",
        "GROUP BY": "_agreed",
        "?inner": "_about",
        "LANGDIR": "_directed",
        "NOT EXISTS": "_open",
    }
    return next((name for sign, name in signs.items() if sign in query), "_bounded")


def _replaced(case, old, new):
    """Return the scores of the reference with changed lines."""
    lines = [re.sub(old, new, line) for line in case.data["gold"]]
    assert lines != case.data["gold"]
    return judged(case, fenced("\n".join(lines))).scores


def test_traps_are_counted():
    """Errors typical of RDF-star and RDF 1.1 are counted by kind."""
    (case,) = cases("annotate-natural-2", 1)
    gold = case.data["gold"]
    inner = {re.search(r"<<\( (.*) \)>>", one)[1] for one in gold if "<<(" in one}
    facts = [one for one in inner if f"{one} ." in gold]
    open_ = [one for one in inner if f"{one} ." not in gold]
    assert (len(facts), len(open_)) == (1, 2)

    more = judged(case, fenced("\n".join([*gold, *(f"{one} ." for one in open_)])))
    assert (more.scores["asserted"], more.scores["exact"], more.scores["recall"]) == (2, 0, 1)
    less = judged(case, fenced("\n".join(one for one in gold if one != f"{facts[0]} .")))
    assert (less.scores["unasserted"], less.scores["precision"]) == (1, 1)

    (case,) = cases("direction-natural-1", 1)
    assert _replaced(case, "--(ltr|rtl) ", " ")["misdirected"] == 3
    assert _replaced(case, "--(ltr|rtl) ", lambda m: f"--{m[1][::-1].replace('rtl', 'ltr')} ")
    (case,) = cases("direction-natural-2", 1, seed=1)
    said = [re.sub(r"@(\w+(?:-\w+)?) ", r"@\1--ltr ", one) for one in case.data["gold"]]
    lacking = sum(one != other for one, other in zip(said, case.data["gold"], strict=True))
    assert judged(case, fenced("\n".join(said))).scores["misdirected"] == lacking

    (case,) = cases("annotate-natural-1", 1)
    scores = _replaced(case, r"<\S*reifies> <<\( (\S+) (\S+) (\S+) \)>>", _reification)
    assert scores["outdated"] == 8
    (case,) = cases("direction-natural-1", 1)
    i18n = rf'"^^<{notations.I18N}\1_\2>'
    scores = _replaced(case, r'"@([\w-]+)--(ltr|rtl)', i18n)
    assert (scores["outdated"], scores["f1"]) == (3, 0)


def _reification(match):
    parts = zip(("subject", "predicate", "object"), match.groups(), strict=True)
    said = " ; ".join(f"<{RDF[name]}> {term}" for name, term in parts)
    return f"a <{RDF.Statement}> ; {said}"


def test_shorter_syntax_is_as_good():
    """Reified triples and annotations are as good as the triples that they abbreviate."""
    (case,) = cases("annotate-natural-1", 1)
    text = "\n".join(case.data["gold"])
    short = re.sub(
        r"(?m)^(_:\w+) <\S*reifies> <<\( (.*) \)>> \.\n.*\n",
        r"\2 ~ \1 {| <urn:none> 1 |} .\n",
        text,
    )
    short = short.replace(" {| <urn:none> 1 |}", "")
    assert "reifies" not in short
    assert judged(case, fenced(short)).scores["exact"] == 1


def test_feedback_says_what_a_parser_can_say():
    """An answer that does not parse or is empty is asked for again, twice; a wrong graph is not."""
    (case,) = cases("repair-natural-1", 1)
    answers = {
        "no block": "format",
        fenced(case.data["asked"]): "syntax",
        fenced(""): "format",
        fenced("<urn:a> <urn:b> <urn:c> ."): None,
    }
    for answer, kind in answers.items():
        verdict = judged(case, answer)
        assert verdict.feedback == kind, answer
        assert family.judge(case, [answer] * 3, PlainExecutor()).next_prompt is None
    assert "<<( is not a valid subject" in judged(case, fenced(case.data["asked"])).next_prompt

    (case,) = cases("query-natural-1", 1)
    for query, kind in {
        "no block": "syntax",
        "```sparql\nSELECT * { << ?s ?p >> ?a ?b }\n```": "syntax",
        "```sparql\nSELECT * { ?s <urn:x> ?o }\n```": "empty-result",
        "```sparql\nSELECT ?o { ?s rdf:reifies ?o }\n```": None,
    }.items():
        verdict = judged(case, query)
        assert verdict.feedback == kind, query
        assert verdict.scores["exact"] == 0
        assert family.judge(case, [query] * 3, PlainExecutor()).next_prompt is None


def test_engines_without_rdf_1_2_are_refused():
    """An engine without triple terms, such as rdflib, is an error and no fault of the answer."""
    (case,) = cases("annotate-natural-1", 1)

    with pytest.raises(EvaluationError, match="judge with the engine oxigraph"):
        judged(case, family.reference(case), executor=engine("rdflib"))


def test_what_a_world_has_not_is_refused(monkeypatch):
    """A world that gives no sound question is refused."""
    monkeypatch.setattr(questions, "_TRIES", 2)
    monkeypatch.setattr(questions, "_is_sound", lambda *_: False)
    with pytest.raises(TaskError, match="gives no question of level 2 about reports"):
        questions.draw_question(World("a", 400), 2, 0)
