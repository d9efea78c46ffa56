# SPDX-License-Identifier: Apache-2.0
"""Download of the files of a publication, from the given folder or address only.

Redirects are not followed, so no other host is contacted. All files of a source share one limit of
bytes and one of seconds.
"""

from __future__ import annotations

import os
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
    """The remaining bytes and seconds for one source; time runs from the creation of the object."""

    bytes: int
    seconds: float
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.seconds

    def remaining(self) -> float:
        """Return the remaining seconds, more than 0.

        Raises :class:`~kgbench.errors.ImportRefused` if no time is left.
        """
        seconds_left = self._ends - time.monotonic()
        if seconds_left <= 0:
            raise ImportRefused(f"it takes longer than {self.seconds:g} s: raise --seconds")
        return seconds_left

    def spend(self, size: int) -> None:
        """Subtract ``size`` bytes.

        Raises :class:`~kgbench.errors.ImportRefused` if this exceeds the limit.
        """
        self.bytes -= size
        if self.bytes < 0:
            raise ImportRefused("it has more bytes than the limit for one source: raise --most")


@dataclass(frozen=True)
class Source:
    """A source of publications: a folder, or the http(s) address of one."""

    address: str

    @classmethod
    def named(cls, text: str) -> Source:
        """Return the source that a user names.

        Raises :class:`~kgbench.errors.ImportRefused` if it is neither a folder nor a usable
        address.
        """
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

    def get(self, name: str, target: Path, limits: Limits, max_bytes: int | None = None) -> bool:
        """Copy the file ``name`` of the source to ``target``; return whether it exists.

        ``max_bytes`` is the limit for this file. Raises :class:`~kgbench.errors.ImportRefused`.
        """
        if not _NAME.fullmatch(name):
            raise ImportRefused(f"it lists an unsafe file name: {name[:100]!r}")
        allowed = limits.bytes if max_bytes is None else min(max_bytes, limits.bytes)
        seconds_left = limits.remaining()
        if "://" in self.address:
            try:
                fetch(
                    urljoin(self.address, name),
                    target,
                    allowed,
                    follow=False,
                    patience=seconds_left,
                )
            except FileNotFoundError:
                return False
        elif not self._copy(name, target, allowed):
            return False
        limits.spend(target.stat().st_size)
        return True

    def _copy(self, name: str, target: Path, max_bytes: int) -> bool:
        path = Path(self.address, name)
        # A link could lead to any file of this machine; the address itself has no links.
        if os.path.realpath(path) != str(path) or not path.is_file():
            return False
        if path.stat().st_size > max_bytes:
            raise ImportRefused(f"{name} is larger than {max_bytes} bytes")
        shutil.copyfile(path, target)
        return True
