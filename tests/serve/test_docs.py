# SPDX-License-Identifier: Apache-2.0
"""The page about serving names the tools that the server offers."""

from __future__ import annotations

import re

from kgbench.plugins.agents.mcp_store import TOOLS


def test_every_tool_is_documented(repository):
    """The table of tools has those of a store, and no others."""
    page = (repository / "docs" / "serve.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| tool \| gives \|\n\|---\|---\|\n(.*?)\n\n", page, re.DOTALL)

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [tool.name for tool in TOOLS]
