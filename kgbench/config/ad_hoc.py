# SPDX-License-Identifier: Apache-2.0
"""Names of runs that are specified on the command line instead of in a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import ModelSetup, Plan
from kgbench.rdf import canonical_json, digest

_NAMED = 2  # maximal numbers of models and patterns in a name
_LONGEST = 48  # characters of each of them; names have at most 200
_DIGITS = 6


def ad_hoc_name(
    plan: Plan,
    *,
    tasks: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    prefix: str = "",
) -> str:
    """Return the name of a run of ``plan`` that is restricted to ``tasks`` and ``models``.

    The same selection has the same name in any order, so that the same command continues its run. A
    digest at the end distinguishes selections whose models differ only in their address, which the
    name does not contain. ``prefix`` begins the name. Without a selection, the name is that of the
    plan.
    """
    if not tasks and not models:
        return plan.name
    patterns = sorted(set(tasks or ()))
    setups = sorted(plan.models, key=lambda setup: setup.spec) if models else []
    part = digest(canonical_json({"tasks": patterns, "models": [setup.spec for setup in setups]}))
    words = []
    if setups:
        words.append(_listed(list(dict.fromkeys(_name(setup) for setup in setups))))
    if patterns:
        words.append(f"on {_listed(patterns)}")
    return f"{prefix}{' '.join(words)} ({part[:_DIGITS]})"


def _name(setup: ModelSetup) -> str:
    return f"{setup.connector}:{setup.model_id}"


def _listed(names: Sequence[str]) -> str:
    """Join the first names, and add how many more there are.

    >>> _listed(["a", "b"]), _listed(["a", "b", "c", "d"])
    ('a, b', 'a, b and 2 more')
    """
    short_names = [
        name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..." for name in names
    ]
    more = f" and {len(short_names) - _NAMED} more" if len(short_names) > _NAMED else ""
    return ", ".join(short_names[:_NAMED]) + more
