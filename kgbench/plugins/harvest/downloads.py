# SPDX-License-Identifier: Apache-2.0
"""Download of the files of a publication, from the given folder or address only.

Redirects are not followed, so no other host is contacted. All files of a source share one budget.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from kgbench.errors import ImportRefused
from kgbench.net import web
from kgbench.net.limits import Budget, bare

_NAME: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")


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

    def get(self, name: str, target: Path, budget: Budget, max_bytes: int | None = None) -> bool:
        """Copy the file ``name`` of the source to ``target``; return whether it exists.

        ``max_bytes`` is the limit for this file. Raises :class:`~kgbench.errors.ImportRefused`.
        """
        if not _NAME.fullmatch(name):
            raise ImportRefused(f"it lists an unsafe file name: {name[:100]!r}")
        if "://" in self.address:
            try:
                web.download(urljoin(self.address, name), target, budget, max_bytes, follow=False)
            except FileNotFoundError:
                return False
            return True
        allowed = budget.bytes if max_bytes is None else min(max_bytes, budget.bytes)
        if not self._copy(name, target, allowed):
            return False
        budget.spend(target.stat().st_size)
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
