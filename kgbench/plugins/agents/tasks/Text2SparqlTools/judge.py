# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlTools: questions about the graph in the parameters, which is accessible by tools."""

from __future__ import annotations

from typing import Final

from kgbench.plugins.agents.graph_questions import GraphQuestions


class Text2SparqlTools(GraphQuestions):
    """Questions about graphs of kgbench and of installed data sets."""


family: Final = Text2SparqlTools(__file__)
