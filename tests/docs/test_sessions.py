# SPDX-License-Identifier: Apache-2.0
"""Pages of ``docs/`` run unchanged: their files, their commands, their outputs."""

import pytest

from tests import documented

#: The pages that are executed from top to bottom, each in its own empty folder.
PAGES = (
    "analyses.md",
    "claims.md",
    "judges.md",
    "new-connector.md",
    "new-data-set.md",
    "new-task-class.md",
    "policies.md",
    "publish.md",
    "python.md",
    "security.md",
    "serve.md",
    "tools.md",
    "tutorial.md",
    "variants.md",
    "worlds.md",
)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_true(name, tmp_path):
    """Every command of the page runs after those before it, with the output of the page."""
    steps = list(documented.steps(documented.page(name)))

    assert any(isinstance(step, documented.Command) for step in steps)
    with documented.Reader(tmp_path) as reader:
        for step in steps:
            said = reader.does(step)
            if isinstance(step, documented.Command) and step.output:
                assert documented.agrees(step.output, said), f"$ {step.text}{said}"


@pytest.mark.parametrize(
    ("shown", "said", "so"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("a\n...\nc\n", "a\nb\n", False),
        ("1 run, ... statements\n", "1 run, 15,022 statements\n", True),
        ("1 run, ... statements\n", "2 runs, 15,022 statements\n", False),
        ("in 1.0 s\n", "in 2.5 s\n", True),
        ("in 1.0 s\n", "in 1 min 5 s\n", True),
    ],
)
def test_outputs_are_compared_strictly(shown, said, so):
    """Only omissions of a page, and values that change with every run, may differ."""
    assert documented.agrees(shown, said) is so
