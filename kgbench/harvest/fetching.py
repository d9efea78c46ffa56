# SPDX-License-Identifier: Apache-2.0
"""Fetching the files of a publication: from the folder or address that was named, from no other.

No redirect is followed, so no other host is asked. All files of a source together keep to a limit
of bytes and of seconds.
"""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from kgbench.errors import ImportRefused
from kgbench.importers.rdf.sources import fetch
from kgbench.net.limits import bare

_NAME: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")


@dataclass
class Limits:
    """What is left for one source: bytes, and the time (monotonic seconds) at which it ends."""

    bytes: int
    seconds: float
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.seconds

    def left(self) -> float:
        """The seconds that are left, more than none. Raises :class:`ImportRefused`."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise ImportRefused(f"it takes longer than {self.seconds:g} s: raise --seconds")
        return left

    def spend(self, size: int) -> None:
        """Count bytes. Raises :class:`ImportRefused`."""
        self.bytes -= size
        if self.bytes < 0:
            raise ImportRefused("it has more bytes than are fetched of a source: raise --most")


@dataclass(frozen=True)
class Source:
    """A folder, or the address of one (http or https)."""

    address: str

    @classmethod
    def named(cls, text: str) -> Source:
        """The source that a user names. Raises :class:`ImportRefused`."""
        if "://" not in text:
            if not Path(text).is_dir():
                raise ImportRefused(f"{text} is neither a folder nor an http or https address")
            return cls(str(Path(text).resolve()))
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.query or parts.fragment or parts.username or parts.password:
            raise ImportRefused(
                f"{bare(text)} is not the http or https address of a folder, without user, query "
                "and fragment"
            )
        return cls(text if text.endswith("/") else f"{text}/")

    def get(self, name: str, target: Path, limits: Limits, most: int | None = None) -> bool:
        """Put the file ``name`` of the source into ``target``; whether there is one.

        ``most`` are the most bytes of this file. Raises :class:`ImportRefused`.
        """
        if not _NAME.fullmatch(name):
            raise ImportRefused(f"it names a file that is not fetched: {name[:100]!r}")
        allowed = limits.bytes if most is None else min(most, limits.bytes)
        left = limits.left()
        if "://" in self.address:
            try:
                fetch(urljoin(self.address, name), target, allowed, follow=False, patience=left)
            except FileNotFoundError:
                return False
        elif not self._copy(name, target, allowed):
            return False
        limits.spend(target.stat().st_size)
        return True

    def _copy(self, name: str, target: Path, most: int) -> bool:
        root = Path(self.address)
        path = (root / name).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            return False
        if path.stat().st_size > most:
            raise ImportRefused(f"{name} is larger than {most} bytes: not read")
        shutil.copyfile(path, target)
        return True
