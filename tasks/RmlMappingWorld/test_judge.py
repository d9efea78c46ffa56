# SPDX-License-Identifier: Apache-2.0
"""Mappings for sources about generated worlds: judged by the resulting triples."""

from __future__ import annotations

import re

import pytest

from kgbench.api import Outcome
from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.families.RmlMappingWorld import judge
from kgbench.families.RmlMappingWorld.aspects import FORMATS
from tests.execution.judging import harm
from tests.execution.judging.hostile import Hostile
from tests.support import families
from tests.support.families import cases, fenced, generated

NAME, family = judge.family.NAME, judge.family
LABELS = generated()[NAME]
NEW = {
    1: {"link"},
    2: {"datatype", "language", "constant", "classes"},
    3: {"join", "nested", "pairs", "inline"},
    4: {"blank", "languages", "iri", "caption", "graph", "several", "filter"},
}
FOREIGN = """@prefix r: <http://w3id.org/rml/> .
<urn:m> r:logicalSource [ r:source [ r:path "/etc/passwd" ] ; r:referenceFormulation r:CSV ] ;
    r:subject <urn:s> ."""
PART = re.compile(r" ;\n    r:predicateObjectMap \[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]")


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a mapping."""
    return families.judged(case, *map(fenced, answers))


def test_the_words_say_which_triples_are_in_named_graphs():
    """Triples from other sources about things of a named graph are outside, as the words say."""
    outside = 0
    for form in ("csv", "table"):
        for case in cases(f"{NAME}-natural-{form}-4", 40):
            rows = case.data["expected"]["shown"]
            named = {row[0] for row in rows if len(row) == 4}
            if any(len(row) == 3 and row[0] in named for row in rows):
                outside += 1
                words = case.data["words"][-1]
                assert "its own entry" in words
                assert "nor what another source says" in words
    assert outside > 3


@pytest.mark.parametrize("label", LABELS)
def test_levels_have_their_features_and_prompts_hide_the_mapping(label):
    """A case has a feature of its level; its prompt has neither mapping nor triples."""
    level = int(label[-1])
    for case in cases(label, 5):
        assert NEW[level] & set(case.data["features"])
        said = family.prompt(case)
        assert case.data["mapping"] not in said
        for rows in case.data["expected"].values():
            assert not any(" ".join(row) in said for row in rows)


@pytest.mark.parametrize("label", LABELS)
def test_every_part_of_a_mapping_matters(label):
    """A mapping without one of its parts has some points, but is not exact."""
    for case in cases(label, 2):
        parts = PART.findall(case.data["mapping"])
        assert parts
        for part in parts:
            verdict = judged(case, case.data["mapping"].replace(part, "", 1))
            assert verdict.scores["exact"] == 0.0, (part, case.data)
            assert 0.0 < verdict.scores["f1"] < 1.0


@pytest.mark.parametrize("form", ["csv", "json", "xml"])
def test_constants_are_found_out(form):
    """A mapping that writes the shown graph as constants is right there, and nowhere else."""
    (case,) = cases(f"{NAME}-natural-{form}-1", 1)
    source = case.data["mapping"].partition("r:logicalSource")[2].partition("r:subjectMap")[0]
    maps = [
        f"m:a{n} a r:TriplesMap ; r:logicalSource {source} r:subject {s} ;\n"
        f"    r:predicateObjectMap [ r:predicate {p} ; r:object {o} ] ."
        for n, (s, p, o) in enumerate(case.data["expected"]["shown"])
    ]
    head = case.data["mapping"].partition("\n\n")[0]
    verdict = judged(case, "\n".join([head, *maps]))

    assert verdict.scores["shownF1"] == 1.0
    assert verdict.scores["f1"] < 0.2
    assert verdict.scores["exact"] == 0.0
    assert verdict.feedback == "content"
    assert "other data" in verdict.next_prompt
    assert not any(" ".join(row) in verdict.next_prompt for row in case.data["expected"]["hidden"])


@pytest.mark.parametrize(
    ("answer", "error", "parses"),
    [
        ("<urn:a>", "", 0.0),
        ("<urn:a> <urn:b> <urn:c> .", "no triples map", 1.0),
        (FOREIGN, "a source that the case does not have: /etc/passwd", 1.0),
    ],
)
def test_what_cannot_be_executed_is_asked_for_again(answer, error, parses):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-csv-2", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert error in (verdict.infos["engineError"] or verdict.infos["parseError"])
    assert (verdict.scores["answerParse"], verdict.scores["executes"]) == (parses, 0.0)
    assert (verdict.scores["f1"], verdict.feedback) == (0.0, "syntax")
    assert verdict.next_prompt
    assert judged(case, answer, answer, answer).next_prompt is None


def test_differences_are_told():
    """A mapping with another graph is asked for again, with missing and surplus triples."""
    (case,) = cases(f"{NAME}-natural-json-1", 1)
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    verdict = judged(case, case.data["mapping"].replace(label, "http://example.org/name"))

    assert 0 < verdict.scores["f1"] < 1
    assert "* missing: <" in verdict.next_prompt
    assert "<http://example.org/name>" in verdict.next_prompt
    assert verdict.infos["missing"]
    assert verdict.infos["surplus"]


def test_the_older_vocabulary_is_read():
    """A mapping in the older RML, mostly with terms of R2RML, gives the same graph."""
    (case,) = cases(f"{NAME}-natural-csv-2", 1)
    name = next(iter(case.data["shown"]))
    old = case.data["mapping"].replace("http://w3id.org/rml/", "http://www.w3.org/ns/r2rml#")
    old = re.sub(r"\[ a r:RelativePathSource[^\]]*\]", f'"{name}"', old)
    old = re.sub(r"r:(logicalSource|source|referenceFormulation|reference)\b", r"o:\1", old)
    old = "@prefix o: <http://semweb.mmlab.be/ns/rml#> .\n" + old.replace(
        "r:CSV", "<http://semweb.mmlab.be/ns/ql#CSV>"
    )

    assert judged(case, old).scores["exact"] == 1.0


PREFIXES = """@prefix r: <http://w3id.org/rml/> . @prefix q: <http://www.w3.org/ns/r2rml#> .
@prefix d: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> . @prefix : <urn:> .
"""


def prefixed(text):
    """Return an answer with a mapping."""
    return fenced(f"{PREFIXES}{text}")


def mapping(source, more="r:subject :s ; r:predicateObjectMap [ r:predicate :p ; r:object :o ]"):
    """Return an answer with a triples map of a source."""
    return prefixed(f":m r:logicalSource {source} ; {more} .")


REMOTE_QUERY = mapping(f'[ r:source [ d:jdbcDSN "jdbc:{harm.URL}" ] ; q:sqlQuery "SELECT 1 AS a" ]')


def reaching():
    """Yield mappings that name addresses, files and databases."""
    url = harm.URL
    names = (url, f"{url}a.csv", url.replace("http", "file"), "/etc/passwd", "../../etc/passwd")
    names += ("file:///etc/passwd", "/proc/self/environ", "|ls", "~/.ssh/id_rsa", "", "a\\u0000b")
    for name in names:
        for form, iterator in (("CSV", ""), ("JSONPath", "$"), ("XPath", "/a")):
            said = f'r:referenceFormulation r:{form} ; r:iterator "{iterator}"'
            yield mapping(f'[ r:source "{name}" ; {said} ]')
    yield mapping(f"[ r:source <{url}> ; r:referenceFormulation r:CSV ]")


def looping():
    """Yield queries that never end, attach databases, or use missing tables."""
    queries = (
        "WITH RECURSIVE t(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM t) SELECT a FROM t",
        "SELECT count(*) AS a FROM " + ", ".join(f"persons p{n}" for n in range(60)),
        "SELECT * FROM " + ", ".join(f"(SELECT 1 AS a{n} UNION SELECT 2) b{n}" for n in range(60)),
        "ATTACH DATABASE '/tmp/hostile.db' AS x",
        "SELECT load_extension('/tmp/x.so') AS a",
        "SELECT readfile('/etc/passwd') AS a",
        "SELECT writefile('/tmp/hostile', 'x') AS a",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM sqlite_master",
        "PRAGMA writable_schema = 1",
        "VACUUM INTO '/tmp/hostile.db'",
        "CREATE TABLE x (a)",
        "SELECT zeroblob(1000000000) AS a",
        "SELECT printf('%.*c', 1000000000, 'x') AS a",
        "SELECT replace(replace('aaaaaaaa', 'a', 'bbbbbbbbbbbbbbbb'), 'b', 'cccccccccccc') AS a",
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + " AS a",
        "SELECT 1 AS a" + " UNION SELECT 1" * 5_000,
        "SELECT 'x' LIKE '" + "%a" * 5_000 + "' AS a",
        "",
        ";",
        "--",
    )
    for query in queries:
        yield mapping(f'[ q:sqlQuery "{query}" ]')


def heavy(name):
    """Yield mappings with large output, for a source of the case."""
    source = f'[ r:source "{name}" ; r:referenceFormulation r:CSV ]'
    yield mapping(source, f'r:subjectMap [ r:template "urn:{"{key}" * 20_000}" ; r:class :C ]')
    yield mapping(source, f'r:subjectMap [ r:template "urn:{"x" * 500_000}{{key}}" ; r:class :C ]')
    yield mapping(source, f'r:subjectMap [ r:template "{"{" * 50_000}" ]')
    yield mapping(source, f'r:subjectMap [ r:template "{chr(92) * 50_000}" ]')
    yield mapping(
        source,
        "r:subjectMap [ r:termType r:BlankNode ; r:class "
        + " , ".join(f":c{n}" for n in range(9_000))
        + " ]",
    )
    predicates = " , ".join(f":p{n}" for n in range(800))
    objects = " , ".join(f":o{n}" for n in range(800))
    graphs = " , ".join(f":g{n}" for n in range(800))
    part = f"r:predicate {predicates} ; r:object {objects} ; r:graph {graphs}"
    yield mapping(source, f"r:subject :s ; r:predicateObjectMap [ {part} ]")
    join = "r:parentTriplesMap :m ; r:joinCondition " + " , ".join(
        '[ r:childMap [ r:constant "1" ] ; r:parentMap [ r:constant "1" ] ]' for _ in range(500)
    )
    yield mapping(
        source, f"r:subject :s ; r:predicateObjectMap [ r:predicate :p ; r:objectMap [ {join} ] ]"
    )
    yield mapping(
        source, 'r:subjectMap :t . :t r:template "urn:{key}" ; r:graphMap :t ; r:languageMap :t'
    )
    yield mapping(
        source, "r:subjectMap :m ; r:predicateObjectMap :m ; r:objectMap :m ; r:parentTriplesMap :m"
    )
    yield prefixed(
        "\n".join(f":m{n} r:logicalSource {source} ; r:subject :s{n} ." for n in range(3_000))
    )
    yield prefixed(":m r:logicalSource " + "[ r:source " * 3_000 + '"x"' + " ]" * 3_000 + " .")
    for form, path in (
        ("JSONPath", "$" + "..*" * 600),
        ("JSONPath", "$" + "..*" * 18),
        ("XPath", "//*" * 18),
        ("JSONPath", "$[?(@" + ".a" * 900 + ")]"),
        ("XPath", "//*" * 600),
        ("XPath", "a[" * 900),
        ("XPath", "/" * 1_900),
    ):
        yield mapping(
            f'[ r:source "{name}" ; r:referenceFormulation r:{form} ; r:iterator "{path}" ]'
        )


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_answers_do_no_harm(form):
    """Each is judged or refused, without connections, in bounded memory; none is right."""
    label = f"{NAME}-natural-{form}-4"
    source = next(iter(harm.question(label).data["shown"]))
    kinds = [
        Hostile(tuple(reaching()), (Outcome.UNPARSABLE,)),
        Hostile((REMOTE_QUERY, *looping(), *heavy(source)), harm.JUDGED_OR_ENDED),
    ]
    harm.assert_outcomes(label, kinds)


@pytest.mark.parametrize("form", FORMATS)
def test_a_mapping_is_judged_in_a_child(form):
    """Imports for files and tables are done before the child process gives up its descriptors."""
    case = harm.question(f"{NAME}-natural-{form}-3")
    answers = (family.reference(case), mapping('[ q:tableName "nothing" ]'))
    requests = [JudgeRequest(case, (one,)) for one in answers]
    right, refused = judge_batch(requests, harm.LIMITS)

    assert (right.outcome, right.scores["exact"]) == (Outcome.SCORED, 1.0)
    assert refused.outcome is Outcome.UNPARSABLE
    assert "the table nothing" in refused.infos["engineError"]
