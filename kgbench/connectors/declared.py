# SPDX-License-Identifier: Apache-2.0
"""Declarations of connectors: their options, server and tool calling, and the extra of their SDK.

Built-in connectors have a constant ``DECLARED``, which the documentation and ``kgbench doctor``
use; connectors of other packages may have one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kgbench.connectors import find, names
from kgbench.connectors.options import Option, read, sampling, tool_source
from kgbench.connectors.servers import Service
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.nearest import nearest

OPTION = "toolProtocol"
NATIVE, TEXT = "native", "text"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a connector, used by its documentation and to parse specifications.

    ``specifications`` are the forms of its model specifications. ``options`` add to the options
    that all connectors have. ``extra`` is the extra of kgbench's package that installs its SDK.
    ``embeddings`` is its server if that has OpenAI's endpoint of embeddings.
    ``sampling`` are the parameters that it passes on to the provider; ``None`` passes on all of
    them. ``native_tools`` says whether the provider's own tool calling can offer tools to a model.
    ``models`` are the only models, each with the names of its options; ``None`` leaves them open.
    """

    specifications: tuple[str, ...]
    options: Mapping[str, Option]
    service: Service | None = None
    extra: str | None = None
    embeddings: Service | None = None
    sampling: tuple[str, ...] | None = None
    native_tools: Callable[[ModelSetup], bool] = lambda _: False
    models: Mapping[str, Collection[str]] | None = None

    def options_of(self, setup: ModelSetup) -> dict[str, Any]:
        """Return all options of the model of ``setup``, with its values; see :func:`check`."""
        declared = self.options
        if self.models is not None:
            if setup.model_id not in self.models:
                hint = nearest(setup.model_id, self.models)
                raise ModelSpecError(
                    f"there is no {setup.connector} model '{setup.model_id}': {hint}"
                )
            declared = {name: declared[name] for name in self.models[setup.model_id]}
        return read(setup.options, declared, setup.spec)


def check(setup: ModelSetup) -> None:
    """Check ``setup`` against the declaration of its connector, if there is one.

    Raises :class:`~kgbench.errors.ModelSpecError` for an unknown option, value or sampling
    parameter, for a model that the connector lacks, and for an address that contradicts its
    version. Keys are not checked.
    """
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    if declared is None:
        return
    chosen = declared.options_of(setup)
    tool_source(setup)
    if declared.sampling is not None:
        sampling(setup, {name: name for name in declared.sampling})
    if declared.service is not None and setup.base_url is not None:
        declared.service.address(setup, chosen)


def declarations() -> dict[str, Declaration]:
    """Return the declarations of the installed connectors, by name, in the order of names."""
    modules = {name: find(name) for name in names()}
    return {
        name: module.DECLARED for name, module in modules.items() if hasattr(module, "DECLARED")
    }


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
