# SPDX-License-Identifier: Apache-2.0
"""Pages that lead from where a dialogue once stood to where it stands now.

Until December 2026 each dialogue had a page of its own. Addresses of pages that a folder had then
still answer: with a page that leads on. A part that is named in the address is found, too.
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
    """Write pages where those of dialogues stood, of the ``earlier`` files of the folder."""
    holds = lru_cache(maxsize=100)(lambda path: (folder.path / path).read_text(encoding="utf-8"))
    files = {}
    for path in sorted(earlier):
        target = leads_to(path)
        if target is None or path in folder.written or target[0] not in folder.written:
            continue
        if f'id="{target[1]}"' in holds(target[0]):
            folder.write(path, page(target[1]))
            files[path] = folder.written[path]
    return Unit("", files)


def leads_to(path: str) -> tuple[str, str] | None:
    """The file and the place in it for what stood at ``path``, if that was a page of a dialogue."""
    if not path.endswith(_END):
        return None
    found = fragments.page_before(path.removesuffix(_END))
    return None if found is None else (found[0] + _END, found[1])


def page(place: str) -> str:
    """The page that leads to ``place`` in the document above it."""
    return _PAGE.format(to=html.escape(f"../#{place}"))
