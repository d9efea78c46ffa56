# SPDX-License-Identifier: Apache-2.0
"""``docs/judges-example.md``: its numbers are reproduced from published dialogues."""

from __future__ import annotations

import json

from tests import documented

PAGE = "judges-example.md"


def test_the_page_is_true(external_data, tmp_path):
    """Every command runs after those before it, and prints the output of the page."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    (tmp_path / "published").symlink_to(external_data / "llm-kg-bench-v3")
    password = {"KGBENCH_ARCHIVE_PASSWORD": passwords["llm-kg-bench-v3"]}
    with documented.Reader(tmp_path, **password) as reader:
        for step in documented.steps(documented.page(PAGE)):
            said = reader.does(step)
            if isinstance(step, documented.Command) and step.output:
                assert documented.agrees(step.output, said), f"$ {step.text}{said}"
