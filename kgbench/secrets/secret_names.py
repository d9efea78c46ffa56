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
SHORTEST: Final = 8
"""The length from which values count as secrets; hiding shorter ones would hide ordinary words."""


def is_secret_field(name: str) -> bool:
    """Return whether a configuration field called ``name`` is meant for a secret.

    >>> is_secret_field("openaiApiKey"), is_secret_field("max_tokens")
    (True, False)
    """
    return _FIELD.fullmatch(_HUMP.sub("_", name)) is not None


def is_recorded_secret_field(name: str) -> bool:
    """Return whether a field of recorded JSON called ``name`` contains a secret.

    Narrower than :func:`is_secret_field`, because judges may legitimately record a ``key``.
    """
    return _RECORDED.search(name) is not None


def secrets_in_environment(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the values of variables whose names suggest secrets; by default of this process."""
    variables = os.environ if environment is None else environment
    secrets = {value.strip() for name, value in variables.items() if _VARIABLE.search(name)}
    return frozenset(secret for secret in secrets if len(secret) >= SHORTEST)
