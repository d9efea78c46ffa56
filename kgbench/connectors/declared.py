# SPDX-License-Identifier: Apache-2.0
"""What a connector declares about itself: its options, its server, the extra with its SDK.

Built-in connectors have a ``DECLARED``, from which the documentation and ``kgbench doctor`` are
made; one from another package may have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgbench.connectors import find, names
from kgbench.connectors.options import Option, read, sampling
from kgbench.connectors.servers import Service
from kgbench.connectors.tool_source import tool_source
from kgbench.model import ModelSetup


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the documentation says of a connector, and what it reads specifications by.

    ``specifications`` are the forms that one may have. ``options`` stand beside those that all
    connectors have. ``extra`` is one of kgbench's package, without which the connector has no SDK.
    ``sampling`` are the parameters that it passes on to the provider; ``None`` where it passes on
    whatever is written. ``native_tools`` says whether a model can be offered tools by the
    provider's own tool calling.
    """

    specifications: tuple[str, ...]
    options: Mapping[str, Option]
    service: Service | None = None
    extra: str | None = None
    sampling: tuple[str, ...] | None = None
    native_tools: Callable[[ModelSetup], bool] = lambda _: False


def check(setup: ModelSetup) -> None:
    """Refuse what the connector of ``setup`` cannot take, as far as that is declared.

    Raises :class:`~kgbench.errors.ModelSpecError` for an option, a value or a sampling parameter
    that it does not take, and for an address that contradicts its version. Looks for no key.
    """
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    if declared is None:
        return
    chosen = read(setup.options, declared.options, setup.spec)
    tool_source(setup)
    if declared.sampling is not None:
        sampling(setup, {name: name for name in declared.sampling})
    if declared.service is not None and setup.base_url is not None:
        declared.service.address(setup, chosen)


def declarations() -> dict[str, Declaration]:
    """The declaration of each installed connector that has one, by its name, in their order."""
    modules = {name: find(name) for name in names()}
    return {
        name: module.DECLARED for name, module in modules.items() if hasattr(module, "DECLARED")
    }
