# SPDX-License-Identifier: Apache-2.0
"""What MkDocs is told beyond ``mkdocs.yml``: the generated pages, and how our blocks are marked."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.reference_pages import pages
from docs.reference_pages.difficulty import figures

#: The opening line of a block with more than a language, such as ``json file=cases.json``.
MARKED = re.compile(r"^(```\w+) [^\n`]+$", re.MULTILINE)
#: A link of a page to a file of the repository that is no page.
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the reference pages and the figures drawn of results to the written pages."""
    for name, text in {**pages(), **figures()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_context: Any) -> str:
    """Open blocks with their language alone, and name files of the repository without a link."""
    text = MARKED.sub(r"\1", markdown)
    return text if "/" in page.file.src_uri else OUTSIDE.sub(r"\1", text)
