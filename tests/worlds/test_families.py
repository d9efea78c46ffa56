# SPDX-License-Identifier: Apache-2.0
"""All generated families of tasks: the same everywhere, and right whatever is drawn.

What only one family has is tested in its own file.
"""

from __future__ import annotations

import hashlib
import json
import random
import re

import pytest

from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import generator
from kgbench.worlds.generator import World
from tests.support.families import cases, digest, printed

# Digests of the first cases of each class for a seed; any other result requires a new version of
# the class.
MADE = {
    "AlignmentWorld": "6e835873bc250f38185e0feaaadb1caab6341a9c00c0c0a4a4763e5d5a2924f2",
    "ClaimCheckWorld": "9e3aefdd93574d88a73e9a56714a3c00c7363022b7c7d6078a46fb5024d652af",
    "DifferenceWorld": "987ff5550109d559d8448e39327e2a9229c3f5d67e32d012f0125962c8315ffb",
    "FactExtractTwin": "e268a94ae74ece42114ab6f06dfc95245a818d5792a19fc39135aa42a78d18e7",
    "JsonLdContextWorld": "67ad25b61cd50f862f6bed8eb1a18bf4bd51d70aa565852ca2f67e18fd6aa2ec",
    "JsonLdFrameWorld": "ba08090249d2c387842358977e46924f7057eb1a4692de158af2d8028b6e662a",
    "OwlEntailmentWorld": "743f5aab76b42795ce72ac438edda7c4df33a792f924d52087c20cdbb3398077",
    "OwlJustificationWorld": "43f0cebb6b9cf925133fff025e8294a134fc13ffd9b18baac1178caa5352c729",
    "OwlRepairWorld": "f57bee3253602b3a3d5b2a502445a1e741a69a955ea4eaede0e0deff47783d6f",
    "OwlWritingWorld": "024a16ec294e29bb51e97484f939232c5c3a74fc88dd11b0e0f15e3b6f36b060",
    "Rdf12World": "cf919bcd5da4cd1cfd3e985eddca2353767491766a0f9df3d42618bc224a155b",
    "RdfConnectionTwin": "28484cfeeff53c1a47095179f3550c3b461f01d577e2186d9d57641585c91bf4",
    "RdfSyntaxTwin": "55b1e558149c03208435e50d269f0454bbb7972b266100778a40f538754e7386",
    "RmlMappingWorld": "50af7de6293251c3050e3721b329e22874d5060138b7981901812c420a232c4a",
    "ShaclRepairWorld": "2af935054fd00b073b688065023fc0bc7bcbcd90bc1b155bc0fd83b4b57f741c",
    "ShaclVerdictWorld": "648ec9077e127c37251ca03b278e8b2155afd8a2e2c67e20ffbe5a10d7dc388e",
    "Sparql2AnswerTwin": "84bc8a7f6d9ca0a06a750372ddf41c3bd0e7a507624cbae59f32761d1e07cced",
    "SparqlSyntaxTwin": "c0c3172addc8d763212fa2fc3a90dd09c6b01798ef0f330a231808719d272b34",
    "Text2AnswerTwin": "84bc8a7f6d9ca0a06a750372ddf41c3bd0e7a507624cbae59f32761d1e07cced",
    "Text2ConstructWorld": "c5620fe7d8e60cbf2f42b576d763cdd4b95b6719b5a5bbe901489df6720868ac",
    "Text2ShaclWorld": "4821d778948164392e1a2193f3199f51da04d042de218e658763f56c8c99ae25",
    "Text2SparqlToolsWorld": "8a04ab81401c90b75b66573e999c44553c926066a731168bc458dedb5e443fd2",
    "Text2SparqlTwin": "bacbaecd80ba8097dc1f51114ac43ccb1798c342c989b99fd08b8a944dafb492",
    "Text2SparqlWorld": "2e9848b2333327852d3af290753a11e8740dd18782801ca2d90e0ef31e7e7a22",
    "Text2UpdateWorld": "74be665e1722b453acb2a3eea0184a062884ef8af1ecaa8a99a71b26fd6dcaa9",
    "TurtleErrorsTwin": "6bcdd277f23bd7782e03be7139c164109361d0293ea2325fdf96302d148d3eae",
}
# Digests of a world with each kind of names; any other text requires a new version of the
# generator.
WORLDS = {
    "natural": "a0e5ff15c04ce416dafa4934e9f41b500cdce065e7c04fe1f3f4d3083cf454e3",
    "opaque": "6e74996923ccee10bbae277517bc16de725dda18c74dbd04aeb4d335c232f331",
}
#: Fields that differ in all cases of a labelled task, beside the prompt.
DIFFERENT = {
    "JsonLdContextWorld": "document",
    "JsonLdFrameWorld": "tree",
    "Text2ConstructWorld": "question",
    "Text2UpdateWorld": "question",
}
WITH_TOOLS = "Text2SparqlToolsWorld"  # answered in dialogues: tests/tools/test_worlds.py
MANY, FEW = 60, 2  # cases of a labelled task
CHANGES = 6  # of words in a reference
TELL = "from tests.worlds import test_families; print(test_families.told())"

LABELS = {
    name: sorted(one for one, task in catalogue.labelled_tasks().items() if task.task_class == name)
    for name in MADE
}


def world_digest(names):
    """Return a digest of the text of a world."""
    world = World("0123456789abcdef", 200, names)
    return hashlib.sha256(generator.text(world).encode()).hexdigest()


def answers(reference):
    """Return the reference, then without its last quarter, and with other words."""
    lines, chance = reference.splitlines(), random.Random(7)
    shorter = "\n".join([*lines[: len(lines) * 3 // 4], lines[-1]])
    words = sorted(set(re.findall(r"\w{4,}", reference)))
    chosen = chance.sample(words, min(CHANGES, len(words)))
    return [reference, shorter, *(reference.replace(word, f"{word}x") for word in chosen)]


def verdicts(name):
    """Return a digest of a case of the first and of the last task with verdicts on answers."""
    module, executor, found = catalogue.module(name), PlainExecutor(), hashlib.sha256()
    for label in (LABELS[name][0], LABELS[name][-1]):
        (case,) = cases(label, 1)
        found.update(repr(case).encode())
        for answer in answers(module.reference(case)):
            found.update(repr(module.judge(case, [answer], executor)).encode())
    return found.hexdigest()


def told():
    """Return digests of worlds, cases and verdicts as JSON."""
    made = {name: verdicts(name) for name in MADE}
    return json.dumps(made | {names: world_digest(names) for names in WORLDS})


def test_all_families_are_known():
    """The digests are those of all classes of generated tasks."""
    named = {task.task_class for task in catalogue.labelled_tasks().values()}

    assert set(MADE) == {name for name in named if name.endswith(("World", "Twin"))}


@pytest.mark.parametrize("name", MADE)
def test_cases_are_those_of_this_version(name):
    """The cases of a seed are those that this version has always made, in whatever hash order."""
    assert digest(LABELS[name], FEW) == MADE[name]


@pytest.mark.parametrize("names", WORLDS)
def test_worlds_are_those_of_this_version(names):
    """The world of a seed is the one that this version of the generator has always made."""
    assert world_digest(names) == WORLDS[names]


def test_every_process_gives_the_same():
    """Worlds, cases and verdicts do not depend on the order of hashes or names of blank nodes."""
    first, second = map(json.loads, printed(TELL))

    assert first == second


@pytest.mark.parametrize(
    "label", [one for name, labels in LABELS.items() if name != WITH_TOOLS for one in labels]
)
def test_references_are_right_and_silence_is_not(label):
    """Many cases differ and hide their answers; references are best in all scores, silence last."""
    task_class = catalogue.task_class(catalogue.labelled_tasks()[label].task_class)
    name, metrics = task_class.name, task_class.answer_metrics
    main = task_class.main_metric.removeprefix("max_")
    module, executor, found = catalogue.module(name), PlainExecutor(), cases(label, MANY)
    assert len({case.iri for case in found}) == MANY
    assert len({module.prompt(case) for case in found}) == MANY
    assert name not in DIFFERENT or len({case.data[DIFFERENT[name]] for case in found}) == MANY
    for case in found:
        reference = module.reference(case)
        lines = [one for one in reference.split("\n") if one and not one.startswith(("```", "@"))]
        assert len(lines) == 1 or "\n".join(lines) not in module.prompt(case)
        assert not [*checks.faults_of_prompt(module, case)]
        right, silent = (module.judge(case, [said], executor) for said in (reference, ""))
        assert (right.outcome, right.next_prompt) == (Outcome.SCORED, None), case.data
        assert main in right.scores
        for metric, score in right.scores.items():
            assert checks.is_best(metrics[metric], score), (metric, case.data)
        assert silent.outcome is Outcome.EMPTY
        assert bool(silent.next_prompt) == (task_class.max_rounds > 1)
        # In twins, as in published tasks, silence may have full precision.
        lowest = [main] if name.endswith("Twin") else silent.scores
        assert {silent.scores[metric] for metric in lowest} == {0.0}, case.data
