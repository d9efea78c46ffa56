# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlQuestions: questions of the TEXT2SPARQL challenge, answered with a query."""

from __future__ import annotations

from typing import Final

from kgbench.plugins.challenges.questions import Text2SparqlQuestions

family: Final = Text2SparqlQuestions(__file__)
