# SPDX-License-Identifier: Apache-2.0
"""``docs/judges.md``: its numbers about published dialogues are reproduced from them."""

from __future__ import annotations

import json
import re

from tests import documented

PAGE = "judges.md"


def test_the_page_is_true(external_data, tmp_path):
    """The blocks marked ``console published`` run in order, with the output of the page."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    (tmp_path / "published").symlink_to(external_data / "llm-kg-bench-v3")
    password = {"KGBENCH_ARCHIVE_PASSWORD": passwords["llm-kg-bench-v3"]}
    others = re.sub(r"^```console$", "```text", documented.page(PAGE), flags=re.MULTILINE)
    steps = list(documented.steps(others.replace("```console published\n", "```console\n")))

    assert any(isinstance(step, documented.Command) for step in steps)
    with documented.Reader(tmp_path, **password) as reader:
        for step in steps:
            said = reader.does(step)
            if isinstance(step, documented.Command) and step.output:
                assert documented.agrees(step.output, said), f"$ {step.text}{said}"
