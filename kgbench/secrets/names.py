# SPDX-License-Identifier: Apache-2.0
"""Names of fields and variables that hold secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

_FIELD = re.compile(
    r"(?i)(?:.*[-_ ])?(?:api|access|auth|secret|private|subscription|bearer|client)[-_ ]?"
    r"(?:key|token|secret)"
    r"|(?:.*[-_ ])?(?:key|secret|password|passwd|authorization|credentials?)|token"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RECORDED = re.compile(r"(?i)api.?key|authorization|password|passwd|secret|access.?token|cookie")
_VARIABLE = re.compile(r"(?i)(?:api|access|secret|auth).*(?:key|token)|(?:key|token|secret)$|passw")
_SHORTEST: Final = 8  # characters of a secret; a shorter value would hide words that are none


def is_for_a_secret(name: str) -> bool:
    """Whether a field of a configuration called ``name`` is for a secret.

    >>> is_for_a_secret("openaiApiKey"), is_for_a_secret("max_tokens")
    (True, False)
    """
    return _FIELD.fullmatch(_HUMP.sub("_", name)) is not None


def is_recorded_secret(name: str) -> bool:
    """Whether a field of recorded JSON called ``name`` holds a secret.

    Narrower than :func:`is_for_a_secret`: what judges note may well be called ``key``.
    """
    return _RECORDED.search(name) is not None


def of_environment(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """The values of the variables that hold secrets by their names; by default of this process."""
    given = os.environ if environment is None else environment
    secrets = {value.strip() for name, value in given.items() if _VARIABLE.search(name)}
    return frozenset(one for one in secrets if len(one) >= _SHORTEST)
