# SPDX-License-Identifier: Apache-2.0
"""Licences of distributions as SPDX expressions, and whether they go with the Apache License 2.0.

``python -m tools.licences [EXTRA...]`` prints those of everything that kgbench brings
along, and ends with exit code 1 where one of them is refused or unknown.
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
    """How a licence stands to kgbench, from good to bad."""

    PERMISSIVE = 0
    WEAK = 1  # copyleft that ends at the file or library, which is used unchanged and apart
    REFUSED = 2
    UNKNOWN = 3


_PERMISSIVE = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "HPND"),
        *("ISC", "LicenseRef-BSD", "LicenseRef-Public-Domain", "MIT", "MIT-0", "MIT-CMU"),
        *("PSF-2.0", "Python-2.0", "Unlicense", "W3C", "W3C-20150513", "Zlib"),
    )
)
_WEAK = re.compile(r"(?:LGPL|MPL|EPL|CDDL)-")
_REFUSED = re.compile(r"(?:A?GPL|SSPL|BUSL|CC-BY-NC|CC-BY-SA|EUPL)-")
#: With these the GNU GPL does not reach what only uses the library.
_EXCEPTIONS = frozenset({"GCC-exception-3.1", "Classpath-exception-2.0", "GCC-exception-2.0"})

#: How packages write it that do not write SPDX, in lower case.
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
_LONGEST = 200  # characters; longer is the licence itself, not its name
_TOKEN = re.compile(r"[()]|[^\s()]+")


def of(said: PackageMetadata) -> str | None:
    """The licence that metadata say, as an SPDX expression; ``None`` where it cannot be told.

    The expression comes first, then the field of former days, then classifiers (all of them hold).
    """
    fields = [said[name] for name in ("License-Expression", "License") if name in said]
    title = fields[0].strip().partition("\n")[0] if fields else ""  # some put the whole text there
    if len(title) <= _LONGEST and (found := _expression(title.strip())):
        return found
    classes = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or ()]
    named = sorted({_CLASSIFIERS[one] for one in classes if one in _CLASSIFIERS})
    return " AND ".join(named) or None


def standing(expression: str | None) -> Standing:
    """How an SPDX expression stands: of ``OR`` the best counts, of ``AND`` the worst.

    >>> standing("MIT OR GPL-3.0-only").name, standing("MIT AND GPL-3.0-only").name
    ('PERMISSIVE', 'REFUSED')
    >>> standing("GPL-3.0-or-later WITH GCC-exception-3.1").name, standing(None).name
    ('WEAK', 'UNKNOWN')
    """
    found = None if expression is None else _expression(expression)
    return Standing.UNKNOWN if found is None else _any(_TOKEN.findall(found))


def _any(tokens: list[str]) -> Standing:
    found = _all(tokens)
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        found = min(found, _all(tokens))
    return found


def _all(tokens: list[str]) -> Standing:
    found = _one(tokens)
    while tokens[:1] == ["AND"]:
        tokens.pop(0)
        found = max(found, _one(tokens))
    return found


def _one(tokens: list[str]) -> Standing:
    first = tokens.pop(0)
    if first == "(":
        inner = _any(tokens)
        tokens.pop(0)
        return inner
    found = _simple(first)
    if tokens[:1] == ["WITH"]:
        exception = tokens[1]
        del tokens[:2]
        if exception in _EXCEPTIONS and found is Standing.REFUSED:
            return Standing.WEAK
    return found


def _simple(identifier: str) -> Standing:
    if identifier in _PERMISSIVE:
        return Standing.PERMISSIVE
    if _WEAK.match(identifier):
        return Standing.WEAK
    return Standing.REFUSED if _REFUSED.match(identifier) else Standing.UNKNOWN


def _expression(written: str) -> str | None:
    if known := _SPELLINGS.get(written.lower()):
        return known
    try:
        return str(canonicalize_license_expression(written)) if written else None
    except InvalidLicenseExpression:
        return None


def main(extras: list[str]) -> int:
    """Print the licence of each distribution; 1 where one may not be used, else 0."""
    from tools.distributions import brought_along

    bad = 0
    for each in brought_along(extras).values():
        found = standing(each.licence)
        bad += found >= Standing.REFUSED
        line = f"{found.name.lower():10}  {each.name} {each.version}  {each.licence or '?'}\n"
        sys.stdout.write(line)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
