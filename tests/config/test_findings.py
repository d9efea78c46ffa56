# SPDX-License-Identifier: Apache-2.0
"""Findings about configurations: file, line, pointer, the wrong value and the allowed ones."""

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyshacl import validate

from kgbench import config
from kgbench.config import graphs, reading
from kgbench.errors import ConfigurationError
from kgbench.vocab import RDF
from tests.support.config_files import GOOD, changed, shape_graph, write
from tests.support.pyshacl_oracle import rdflib_graph

TASK = "  - RdfFriendCount-turtle-1\n"
MODEL = "  - baseline:oracle\n"


def found(tmp_path, text, name="small.yaml"):
    """Return the findings of a file, as ``line pointer message``."""
    findings = config.validate(write(tmp_path, text, name))
    assert all(finding.source == str(tmp_path / name) for finding in findings)
    return [f"{f.line} {f.pointer} {f.message}" for f in findings]


REFUSED = {
    "unknown task": (
        changed("RdfFriendCount-turtle-1", "RdfFriendCont-turtle-1"),
        "3 /tasks/0 unknown task 'RdfFriendCont-turtle-1': did you mean RdfFriendCount-turtle-1",
    ),
    "unknown task class": (
        changed(TASK, "  - label: x\n    class: RdfFrendCount\n"),
        (
            "4 /tasks/0/class unknown task class 'RdfFrendCount': did you mean RdfFriendCount or "
            "TurtleFriendCount?"
        ),
    ),
    "unknown parameter": (
        changed(TASK, "  - label: x\n    class: RdfFriendCount\n    params:\n      - sice: 3\n"),
        "6 /tasks/0/params/0/sice task x: RdfFriendCount has no parameter 'sice': did you mean",
    ),
    "parameter of the wrong kind": (
        changed(TASK, "  - {label: x, class: RdfFriendCount, params: {size: many}}\n"),
        "3 /tasks/0/params/size task x: the parameter 'size' must be a whole number",
    ),
    "parameter that is not among the allowed": (
        changed(TASK, "  - {label: x, class: RdfFriendCount, params: {graphFormat: turtel}}\n"),
        "3 /tasks/0/params/graphFormat task x: the parameter 'graphFormat' cannot be 'turtel': did",
    ),
    "pattern that matches nothing": (
        changed("RdfFriendCount-turtle-1", "'RdfFrend*'"),
        "3 /tasks/0 no task matches 'RdfFrend*'",
    ),
    "iterations 0": (
        changed("iterations: 2", "iterations: 0"),
        "6 /iterations found 0; allowed: a whole number from 1 to 1000000",
    ),
    "iterations as text": (
        changed("iterations: 2", "iterations: '20'"),
        "6 /iterations found the text '20'; allowed: a whole number from 1",
    ),
    "iterations as truth value": (
        changed("iterations: 2", "iterations: true"),
        "6 /iterations found true; allowed",
    ),
    "iterations as list": (
        changed("iterations: 2", "iterations: [2]"),
        "6 /iterations found an object or a list; allowed",
    ),
    "iterations as empty list": (
        changed("iterations: 2", "iterations: []"),
        "6 /iterations found an empty list; allowed",
    ),
    "iterations null": (changed("iterations: 2", "iterations:"), "6 /iterations found nothing"),
    "misspelt key": (
        changed("iterations: 2", "iteratons: 2"),
        "6 /iteratons unknown key 'iteratons': did you mean iterations",
    ),
    "misspelt key of an entry": (
        changed(TASK, "  - label: x\n    clas: RdfFriendCount\n"),
        "4 /tasks/0/clas unknown key 'clas': did you mean class?",
    ),
    "key in the wrong place": (GOOD + "label: x\n", "7 /label the key 'label' does not belong"),
    "key with blanks": (
        GOOD + "call time out: 3\n",
        "7 /call time out unknown key 'call time out'",
    ),
    "key that is an IRI": (GOOD + "'https://example.org/x': 3\n", "unknown key 'https://example"),
    "key that is a blank node": (GOOD + "'_:x': 3\n", "7 /_:x unknown key '_:x'"),
    "key that is a keyword": (GOOD + "'@id': x\n", "7 /@id unknown key '@id'"),
    "foreign context": (GOOD + "'@context': 'https://example.org/c'\n", "7 /@context unknown key"),
    "key that looks like a keyword": (GOOD + "'@foo': 1\n", "7 /@foo unknown key '@foo'"),
    "a class as key": (GOOD + "Configuration: 1\n", "7 /Configuration the key 'Configuration'"),
    "task that is a number": (changed(TASK, "  - 5\n"), "3 /tasks/0 found 5; allowed: the name of"),
    "task that is a list": (changed(TASK, "  - [x]\n"), "3 /tasks/0 found a list; allowed"),
    "task that is an empty list": (
        changed(TASK, "  - []\n"),
        "3 /tasks/0 found an empty list; allowed: the name of a task",
    ),
    "task that is empty": (changed(TASK, "  - {}\n"), "3 /tasks/0 needed: 'class'"),
    "params as text": (
        changed(TASK, "  - class: RdfFriendCount\n    params: size\n"),
        "4 /tasks/0/params found the text 'size'; allowed: an object",
    ),
    "params as list of lists": (
        changed(TASK, "  - class: RdfFriendCount\n    params: [[{size: 3}]]\n"),
        "4 /tasks/0/params/0 found a list; allowed: an object with a value for each parameter",
    ),
    "no tasks": (changed("tasks:\n" + TASK, ""), "1  needed: 'tasks', a list of task names"),
    "empty tasks": (changed("\n" + TASK, " []\n"), "there are no tasks; needed: at least one"),
    "no models": (changed("models:\n" + MODEL, ""), "1  needed: 'models', a list of spec"),
    "tasks as number": (changed("\n" + TASK, " 5\n"), "2 /tasks"),
    "one task without a list": (
        changed("\n" + TASK, "\n  label: x\n  clas: y\n"),
        "4 /tasks/clas unknown key 'clas': did you mean class?",
    ),
    "label twice": (
        changed(TASK, TASK + "  - label: RdfFriendCount-turtle-1\n    class: RdfFriendCount\n"),
        "4 /tasks/1/label the label 'RdfFriendCount-turtle-1' is used twice",
    ),
    "model label twice": (
        changed(MODEL, MODEL + MODEL),
        "6 /models/1 the label 'baseline:oracle' is used twice",
    ),
    "label over two lines": (
        changed(TASK, '  - label: "a\\nb"\n    class: RdfFriendCount\n'),
        "3 /tasks/0/label found the text 'a\\nb'; allowed: one line of text",
    ),
    "unknown connector": (
        changed("baseline:oracle", "baselin:oracle"),
        "5 /models/0 there is no connector 'baselin': did you mean baseline?",
    ),
    "not a specification": (
        changed("baseline:oracle", "oracle"),
        "5 /models/0 'oracle' is not CONNECTOR:MODEL, such as baseline:oracle",
    ),
    "unknown model class": (
        changed(MODEL, "  - {label: x, class: ModelGtp, params: {model: m}}\n"),
        "5 /models/0 unknown model class 'ModelGtp': did you mean ModelGpt",
    ),
    "misspelt sampling parameter": (
        changed(MODEL, "  - class: ModelGpt\n    params: {model: m, temprature: 1}\n"),
        "6 /models/0/params/temprature openai: unknown parameter 'temprature': did you mean temper",
    ),
    "timeout as text": (
        GOOD + "callTimeout: soon\n",
        "7 /callTimeout found the text 'soon'; allow",
    ),
    "size 0": (GOOD + "sizes: [1000, 0]\n", "7 /sizes/1 found 0; allowed: a whole number from 1"),
    "unknown suite": (
        GOOD + "suite: kgbnch-1\n",
        "7 /suite unknown suite 'kgbnch-1': did you mean",
    ),
    "a list": ("- a\n", "1  found a list; allowed: an object with keys"),
    "a text": ("hello\n", "1  found a single value; allowed: an object with keys"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_with_its_place(tmp_path, case):
    """Each mistake gives a finding with line, pointer, the wrong value and the allowed ones."""
    text, expected = REFUSED[case]

    said = found(tmp_path, text)

    assert any(expected in each for each in said), said


def test_the_same_mistakes_are_found_in_json(tmp_path):
    """JSON gives the same lines, pointers and messages as YAML."""
    text = (
        '{\n "tasks": ["RdfFrendCount-*"],\n "models": [{"clas": "x"}],\n'
        ' "iterations": 0,\n "naem": 1\n}\n'
    )

    said = found(tmp_path, text, "small.json")

    assert "4 /iterations found 0; allowed: a whole number from 1 to 1000000" in said
    assert any(each.startswith("5 /naem unknown key 'naem': did you mean name") for each in said)
    assert any(each.startswith("3 /models/0/clas unknown key 'clas'") for each in said)


TURTLE = """\
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix param: <https://w3id.org/kgbench/parameter#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

<> a kgb:Configuration ;
    kgb:tasks (
        [ rdfs:label "x" ; kgb:className "RdfFriendCount" ; kgb:params [ param:size 2000 ] ]
    ) ;
    kgb:models ( "baseline:oracle" [ rdfs:label "y" ; kgb:spec "baseline:silent" ] ) ;
    kgb:callTimeout 2.5 ;
    kgb:iterations 2 .
"""

TURTLE_REFUSED = {
    "syntax": (("kgb:iterations 2 .", "kgb:iterations 2"), "13  this is not Turtle"),
    "iterations 0": (("iterations 2", "iterations 0"), "/iterations found 0; allowed: a whole"),
    "two values": (("iterations 2", "iterations 2, 3"), "/iterations found more than one value"),
    "ill-typed": (
        ("iterations 2", 'iterations "x"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        "/iterations found x; allowed",
    ),
    "unknown datatype": (
        ("iterations 2", 'iterations "2026-13-45"^^<http://www.w3.org/2001/XMLSchema#date>'),
        "/iterations found 2026-13-45; allowed",
    ),
    "unknown property": (("kgb:iterations", "kgb:iteratons"), "/kgb:iteratons unknown key"),
    "property of an entry": (("rdfs:label", "rdfs:lable"), "/tasks/0/rdfs:lable unknown key"),
    "parameter in the wrong namespace": (
        ("param:size", "kgb:size"),
        "/tasks/0/params found kgb:size; allowed: properties in <https://w3id.org/kgbench/param",
    ),
    "unknown parameter": (("param:size", "param:sise"), "/tasks/0/params/sise task x: RdfFriend"),
    "wrong kind of value": (("size 2000", 'size "2000"@en'), "/params/size found a value of"),
    "text in a language": (
        ('rdfs:label "x"', 'rdfs:label "x"@en'),
        "/tasks/0/label found the text 'x' in the language en; allowed: one line of text",
    ),
    "parameter twice": (("2000 ]", "2000, 3000 ]"), "/params/size found more than one value"),
    "parameter that is a day": (
        ("2000 ]", '"2026-01-02"^^<http://www.w3.org/2001/XMLSchema#date> ]'),
        "/params/size found a value of another kind",
    ),
    "parameter that is no number": (
        ("2000 ]", '"NaN"^^<http://www.w3.org/2001/XMLSchema#double> ]'),
        "/tasks/0/params/size the number is not finite",
    ),
    "parameter without end": (
        ("2000 ]", '"-INF"^^<http://www.w3.org/2001/XMLSchema#double> ]'),
        "/tasks/0/params/size the number is not finite",
    ),
    "list with a fork": (
        ("2000 ]", f"[ <{RDF.first}> 1, 2 ; <{RDF.rest}> () ] ]"),
        "/tasks/0/params/size this is not a well-formed list",
    ),
    "nested too deeply": (("2000 ]", "[ param:a " * 40 + "1" + " ]" * 41), "deeper than 32 levels"),
    "too many statements": (("2000 ]", f"({' 1' * 10_001} ) ]"), "more than 10000 statements"),
    "key in a comment": (("<> a", f"# sk-{'x1' * 20}\n<> a"), "6  this looks like an API key"),
    "no root": (("a kgb:Configuration", "a kgb:Configuratio"), "found 0 nodes of type kgb:Config"),
    "two roots": (("<> a", "[] a kgb:Configuration .\n<> a"), "found 2 nodes"),
    "loose statement": (("<> a", "<urn:x> rdfs:label 'x' .\n<> a"), "<urn:x> is no part of the"),
    "loose blank node": (("<> a", "[] rdfs:label 'x' .\n<> a"), "a blank node is no part"),
    "not a list": (
        ('( "baseline:oracle" [', "[ a rdfs:List ; rdfs:member ["),
        "/models/rdfs:member unknown key 'rdfs:member': known are class, label, params, spec",
    ),
    "shared node": (
        ("[ param:size 2000 ] ]\n    )", "_:p ] [ kgb:params _:p ] ) ; kgb:seed 0"),
        "a blank node is used in two places",
    ),
    "statement about the empty list": (
        ("<> a", f"<{RDF.nil}> <{RDF.first}> 'x' ; <{RDF.rest}> () .\n<> a"),
        "rdf:nil is the empty list; nothing is said about it here",
    ),
    "statement about a statement": (
        ("kgb:iterations 2", "kgb:iterations <<( <urn:a> <urn:b> <urn:c> )>>"),
        "statements about statements are not read here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TURTLE_REFUSED)
def test_mistakes_in_turtle_are_said_with_their_place(tmp_path, case, caplog):
    """Findings in Turtle have pointers, made of the keys of its properties."""
    (old, new), expected = TURTLE_REFUSED[case]
    text = TURTLE.replace(old, new).replace("2 .\n", "2 .\n" if case != "syntax" else "2")
    if case == "not a list":
        text = text.replace("] ) ;\n    kgb:call", "] ] ;\n    kgb:call")

    said = found(tmp_path, text, "small.ttl")

    assert any(expected in each for each in said), said
    assert not caplog.records


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"", "a.yaml", "the file is empty"),
        (b" \n\t\n", "a.json", "the file is empty"),
        (b"name: caf\xe9\n", "a.yaml", "1  the file is not UTF-8 (byte 9)"),
        ("name: x".encode("utf-16"), "a.yaml", "the file is not UTF-8"),
        (b"# " + b"x" * (256 * 1024), "a.yaml", "the file is larger than 256 KiB"),
        (b"tasks: []", "a.conf", "unknown kind of file; known are .yaml"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, content, name, expected):
    """Empty, foreign, oversized and wrongly encoded files have findings that say so."""
    said = found(tmp_path, content, name)

    assert len(said) == 1
    assert expected in said[0]
    assert found(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()) == []  # a byte order mark


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("none.yaml", "there is no such file"),
        (".", "this is not a file"),
        ("bad\0name.yaml", "there is no such file"),
        (f"{'x' * 5000}.yaml", "cannot be read"),
    ],
)
def test_missing_files_and_folders_are_refused(tmp_path, monkeypatch, path, said):
    """A path that leads to nothing, or to a folder, is a finding."""
    monkeypatch.chdir(tmp_path)
    assert said in str(config.validate(path)[0])


def test_messages_are_short_and_printable(tmp_path):
    """A quotation from a file is shortened, and contains no control characters."""
    said = found(tmp_path, GOOD + f'"\\e[31m{"x" * 900}": "\\a"\nseed: "{"y" * 5000}"\n')

    assert len(said) == 2
    assert all(each.isprintable() for each in said)
    assert all(len(each.split(" ", 2)[2]) < 400 for each in said)


KEYS = [*graphs.terms(), "unknown", "@id", "@context", "@type", "model", "size", "graphFormat"]
SCALARS = st.sampled_from(
    [0, 1, 2**62, -1, 0.5, True, "", "x", "a b", "\u0000", "*", "baseline:oracle", "RdfFriendCount"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_any_document_is_accepted_or_refused(tmp_path, value):
    """No document raises an exception or passes with unknown keys; pySHACL agrees with kgbench."""
    report = config.check(write(tmp_path, json.dumps(value), "any.json"))

    unknown = set(value) - set(graphs.terms())
    assert report.findings or not unknown
    with contextlib.suppress(ConfigurationError):
        tree = reading.read(tmp_path / "any.json", "", graphs.CONFIGURATION)
        triples = graphs.of(tree.value, graphs.CONFIGURATION).triples
        accepted, *_ = validate(rdflib_graph(triples), shacl_graph=shape_graph())
        assert accepted == (not graphs.findings(tree, graphs.CONFIGURATION))


def test_a_long_list_is_read_to_its_end(tmp_path):
    """A list of 1,501 entries is checked to its end, in the order of the file."""
    sizes = ", ".join(str(size) for size in range(1, 1501))
    path = write(tmp_path, GOOD + f"sizes: [{sizes}, 0]\n")

    assert [finding.pointer for finding in config.validate(path)] == ["/sizes/1500"]


def test_contexts_of_others_are_never_read(tmp_path):
    """A context that a configuration names is an unknown key."""
    (refused,) = found(tmp_path, '"@context": "https://example.org/context"\n' + GOOD)

    assert refused.startswith("1 /@context unknown key '@context'")
