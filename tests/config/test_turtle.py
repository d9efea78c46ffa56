# SPDX-License-Identifier: Apache-2.0
"""The recorded plan: parameters of any type are read back unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench import config
from kgbench.config import graphs, turtle
from tests.support.config_files import GOOD, changed, write

# A graph has no order of equal values, and no null; another test covers omitted values.
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Return a plan with one task."""
    return config.load(write(tmp_path_factory.mktemp("plan"), GOOD))


def again(plan, parameters):
    """Return the parameters of the plan's task after writing and reading them."""
    task = replace(plan.tasks[0], parameters=parameters)
    text = turtle.plan_to_turtle(replace(plan, tasks=(task,)))
    return turtle.read("plan.ttl", text, graphs.CONFIGURATION).value["tasks"][0]["params"]


def test_parameters_of_every_kind_come_back(plan):
    """Truth values, numbers, texts, lists, objects, and names beyond prefixed names are kept."""
    parameters = {
        "flag": True,
        "other": False,
        "count": 7,
        "rate": 0.1,
        "large": 1e300,
        "words": ["a", '"b"\n', []],
        "nested": {"größe / weite": {"x": [1, 2.0, {"deep": "er"}]}, "none": {}},
        "1st": "one",
    }
    found = again(plan, parameters)

    assert found == parameters
    assert type(found["nested"]["größe / weite"]["x"][1]) is float


def test_what_has_no_value_is_left_out(plan):
    """A parameter that is null is omitted, because RDF has no null."""
    assert again(plan, {"size": None, "graphFormat": "nt"}) == {"graphFormat": "nt"}


@given(value=VALUES)
def test_any_parameter_comes_back(plan, value):
    """Any JSON value of a parameter is read back unchanged."""
    assert again(plan, {"it": value}) == {"it": value}


def test_a_former_name_of_a_class_means_the_class(tmp_path):
    """A task with the former name of a class belongs to the class, and keeps its label."""
    text = changed("RdfFriendCount-turtle-1", "Text2SparqlToolsOrganizational")
    (task,) = config.load(write(tmp_path, text)).tasks

    assert task.label == "Text2SparqlToolsOrganizational"
    assert task.task_class == "Text2SparqlTools"
    assert task.parameters["graph"] == "organisation"
