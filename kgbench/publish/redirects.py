# SPDX-License-Identifier: Apache-2.0
"""Redirects from the former pages of dialogues to their current positions.

Until December 2026 each dialogue had its own page. A folder that had such pages keeps a redirect
page at their addresses. A fragment of the old address, which names a part, is translated as well.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache

from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit
from kgbench.store import fragments

_END = "/index.html"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="{to}">
<script>location.replace("{to}" + location.hash.replace("#", "-"))</script>
<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript>
</head>
<body>
<p>This dialogue is <a href="{to}">here</a> now.</p>
</body>
</html>
"""


def write(folder: Folder, earlier: Iterable[str]) -> Unit:
    """Write redirects in place of the pages of dialogues among the ``earlier`` files."""
    content = lru_cache(maxsize=100)(lambda path: (folder.path / path).read_text(encoding="utf-8"))
    files = {}
    for path in sorted(earlier):
        target = redirect_target(path)
        if target is None or path in folder.written or target[0] not in folder.written:
            continue
        if f'id="{target[1]}"' in content(target[0]):
            folder.write(path, redirect_page(target[1]))
            files[path] = folder.written[path]
    return Unit("", files)


def redirect_target(path: str) -> tuple[str, str] | None:
    """Return the file and fragment that replace the former page of a dialogue at ``path``.

    Any other path gives ``None``.
    """
    if not path.endswith(_END):
        return None
    position = fragments.page_before(path.removesuffix(_END))
    return None if position is None else (position[0] + _END, position[1])


def redirect_page(fragment: str) -> str:
    """Return the redirect page to the fragment ``fragment`` of the document above it."""
    return _PAGE.format(to=html.escape(f"../#{fragment}"))
