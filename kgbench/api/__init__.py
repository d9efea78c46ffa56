# SPDX-License-Identifier: Apache-2.0
"""What packages of others import: names by purpose, each loaded when it is first used.

The names stand in ``__init__.pyi``, as imports under headings. Other modules of this package hold
the results in a store as an object (:func:`kgbench.open`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

_LINE = re.compile(r"^(?:# ([a-z ]+)|from (\S+) import (\w+) as (\w+).*)$", re.MULTILINE)


def _read() -> tuple[dict[str, list[str]], dict[str, tuple[str, str]]]:
    """Return the names by purpose, and the module and attribute of each name."""
    purposes: dict[str, list[str]] = {}
    places = {}
    for heading, module, attribute, name in _LINE.findall(
        Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    ):
        if heading:
            names = purposes.setdefault(heading, [])
        else:
            names.append(name)
            places[name] = (module, attribute)
    return purposes, places


PURPOSES: Final[Mapping[str, list[str]]]
"""The names by purpose."""
PURPOSES, _PLACES = _read()

__all__ = sorted(_PLACES)  # noqa: PLE0605 - strings, known when the module is imported


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a connector does not load the analyses."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kgbench.api' has no attribute '{name}'")
    module, attribute = _PLACES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and the module's other attributes."""
    return sorted({*globals(), *__all__})
