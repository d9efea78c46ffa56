# SPDX-License-Identifier: Apache-2.0
"""Hostile mappings have the outcomes of their kinds, and open nothing."""

from __future__ import annotations

import pytest

from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.families.RmlMappingWorld.aspects import FORMATS
from kgbench.families.RmlMappingWorld.judge import family
from kgbench.model import Outcome
from tests.execution.judging import harm
from tests.execution.judging.hostile import Hostile

NAME = family.NAME
PREFIXES = """@prefix r: <http://w3id.org/rml/> . @prefix q: <http://www.w3.org/ns/r2rml#> .
@prefix d: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> . @prefix : <urn:> .
"""


def fenced(text):
    """Return an answer with a mapping."""
    return f"```turtle\n{PREFIXES}{text}\n```"


def mapping(source, more="r:subject :s ; r:predicateObjectMap [ r:predicate :p ; r:object :o ]"):
    """Return an answer with a triples map of a source."""
    return fenced(f":m r:logicalSource {source} ; {more} .")


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
    yield fenced(
        "\n".join(f":m{n} r:logicalSource {source} ; r:subject :s{n} ." for n in range(3_000))
    )
    yield fenced(":m r:logicalSource " + "[ r:source " * 3_000 + '"x"' + " ]" * 3_000 + " .")
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
