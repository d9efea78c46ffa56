# SPDX-License-Identifier: Apache-2.0
"""What MkDocs is told beyond ``mkdocs.yml``: the generated pages, and how our blocks are marked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.reference_pages import command_line, pages
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


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of the commands to the navigation, below their index."""
    index = {"Command line": "reference/command-line.md"}
    commands = [{name: command_line.path(name)} for name in sorted(command_line.names())]
    for section in config.nav or []:
        for children in section.values():
            if index in children:
                children.insert(children.index(index) + 1, {"Commands": commands})
    return config


def on_post_build(*, config: MkDocsConfig) -> None:
    """Make the index of the search a script.

    Browsers let no page that was opened from a folder fetch a file or start a worker, so that the
    search of MkDocs works on servers only.
    """
    folder = Path(config.site_dir) / "search"
    index = folder / "search_index.json"
    (folder / "index.js").write_text(f"var searched = {index.read_text('utf-8')};\n", "utf-8")
    (folder / "main.js").write_bytes((Path(config.docs_dir) / "search.js").read_bytes())
    for unused in (index, folder / "worker.js", Path(config.site_dir) / "search.js"):
        unused.unlink(missing_ok=True)


def on_page_markdown(markdown: str, *, page: Page, **_context: Any) -> str:
    """Open blocks with their language alone, and name files of the repository without a link."""
    text = MARKED.sub(r"\1", markdown)
    return text if "/" in page.file.src_uri else OUTSIDE.sub(r"\1", text)
