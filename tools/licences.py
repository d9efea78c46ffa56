# SPDX-License-Identifier: Apache-2.0
"""Licences of distributions as SPDX expressions, and their compatibility with Apache-2.0.

``python -m tools.licences [EXTRA...]`` prints the licences of everything that kgbench depends on.
The exit code is 1 if one of them is refused or unknown.
"""

from __future__ import annotations

import re
import sys
from enum import IntEnum
from typing import TYPE_CHECKING

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

if TYPE_CHECKING:
    from importlib.metadata import PackageMetadata


class Standing(IntEnum):
    """Whether kgbench may depend on a licence, from good to bad."""

    PERMISSIVE = 0
    WEAK = 1  # copyleft of a file or library, which is used unchanged and separately
    REFUSED = 2
    UNKNOWN = 3


_PERMISSIVE = frozenset(
    (
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "LicenseRef-BSD",
        "LicenseRef-Public-Domain",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "W3C",
        "W3C-20150513",
        "Zlib",
    )
)
_WEAK = re.compile(r"(?:LGPL|MPL|EPL|CDDL)-")
_REFUSED = re.compile(r"(?:A?GPL|SSPL|BUSL|CC-BY-NC|CC-BY-SA|EUPL)-")
#: With these exceptions the GNU GPL does not extend to programs that only use the library.
_EXCEPTIONS = frozenset({"GCC-exception-3.1", "Classpath-exception-2.0", "GCC-exception-2.0"})

#: Spellings of packages that do not use SPDX, in lower case.
_SPELLINGS = {
    "apache 2.0": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "bsd": "LicenseRef-BSD",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "LicenseRef-BSD",
    "bsd, public domain": "LicenseRef-BSD AND LicenseRef-Public-Domain",
    "isc license": "ISC",
    "mit license": "MIT",
    "psfl": "PSF-2.0",
    "w3c software notice and license": "W3C",
}
#: The last parts of classifiers that name a licence.
_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "LicenseRef-BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "LicenseRef-Public-Domain",
    "Python Software Foundation License": "PSF-2.0",
    "GNU General Public License (GPL)": "GPL-1.0-or-later",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU Affero General Public License v3 or later (AGPLv3+)": "AGPL-3.0-or-later",
}
_LONGEST = 200  # characters; a longer field is the licence text, not its name
_TOKEN = re.compile(r"[()]|[^\s()]+")


def of(metadata: PackageMetadata) -> str | None:
    """Return the licence in ``metadata`` as an SPDX expression; ``None`` if it is unclear.

    The expression takes precedence over the older field, and that over classifiers, which all hold.
    """
    fields = [metadata[name] for name in ("License-Expression", "License") if name in metadata]
    title = fields[0].strip().partition("\n")[0] if fields else ""  # some contain the whole text
    if len(title) <= _LONGEST and (expression := _expression(title.strip())):
        return expression
    titles = [text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier") or ()]
    identifiers = sorted({_CLASSIFIERS[title] for title in titles if title in _CLASSIFIERS})
    return " AND ".join(identifiers) or None


def standing(expression: str | None) -> Standing:
    """Return the standing of an SPDX expression: the best one of ``OR``, the worst one of ``AND``.

    >>> standing("MIT OR GPL-3.0-only").name, standing("MIT AND GPL-3.0-only").name
    ('PERMISSIVE', 'REFUSED')
    >>> standing("GPL-3.0-or-later WITH GCC-exception-3.1").name, standing(None).name
    ('WEAK', 'UNKNOWN')
    """
    normalised = None if expression is None else _expression(expression)
    return Standing.UNKNOWN if normalised is None else _choice(_TOKEN.findall(normalised))


def _choice(tokens: list[str]) -> Standing:
    best = _conjunction(tokens)
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        best = min(best, _conjunction(tokens))
    return best


def _conjunction(tokens: list[str]) -> Standing:
    worst = _term(tokens)
    while tokens[:1] == ["AND"]:
        tokens.pop(0)
        worst = max(worst, _term(tokens))
    return worst


def _term(tokens: list[str]) -> Standing:
    first = tokens.pop(0)
    if first == "(":
        inner = _choice(tokens)
        tokens.pop(0)
        return inner
    rank = _simple(first)
    if tokens[:1] == ["WITH"]:
        exception = tokens[1]
        del tokens[:2]
        if exception in _EXCEPTIONS and rank is Standing.REFUSED:
            return Standing.WEAK
    return rank


def _simple(identifier: str) -> Standing:
    if identifier in _PERMISSIVE:
        return Standing.PERMISSIVE
    if _WEAK.match(identifier):
        return Standing.WEAK
    return Standing.REFUSED if _REFUSED.match(identifier) else Standing.UNKNOWN


def _expression(text: str) -> str | None:
    if identifier := _SPELLINGS.get(text.lower()):
        return identifier
    try:
        return str(canonicalize_license_expression(text)) if text else None
    except InvalidLicenseExpression:
        return None


def main(extras: list[str]) -> int:
    """Print the licence of each distribution; return 1 if one may not be used, else 0."""
    from tools.distributions import brought_along

    refused = 0
    for package in brought_along(extras).values():
        rank = standing(package.licence)
        refused += rank >= Standing.REFUSED
        licence = package.licence or "?"
        line = f"{rank.name.lower():10}  {package.name} {package.version}  {licence}\n"
        sys.stdout.write(line)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
