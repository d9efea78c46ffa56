# SPDX-License-Identifier: Apache-2.0
"""The tool protocol of a model: the provider's own tool calling, or text."""

from __future__ import annotations

from kgbench.connectors import find
from kgbench.connectors.declared import Declaration
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup

OPTION = "toolProtocol"
NATIVE, TEXT = "native", "text"


def is_native(setup: ModelSetup, plan: str | None = None) -> bool:
    """Return whether ``setup`` is offered tools by its provider's own tool calling.

    Its option ``toolProtocol`` decides, else the ``plan``, else whether the connector supports tool
    calling. Raises :class:`~kgbench.errors.ModelSpecError` if ``native`` is requested of a
    connector without tool calling.
    """
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    able = declared is not None and declared.native_tools(setup)
    chosen = setup.options.get(OPTION) or plan or (NATIVE if able else TEXT)
    if chosen == NATIVE and not able:
        raise ModelSpecError(
            f"{setup.spec}: the connector {setup.connector} has no tool calling of its own; "
            f"leave out {OPTION}, or give this model the option {OPTION}={TEXT}"
        )
    return bool(chosen == NATIVE)
