# SPDX-License-Identifier: Apache-2.0
"""What crawlers may take: all of it for readers and search, nothing for training; canaries."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.tasks import canary
from kgbench.vocab import KGB

#: Crawlers that collect training texts, as their owners name them.
COLLECTORS = (
    *("GPTBot", "CCBot", "ClaudeBot", "anthropic-ai", "Google-Extended", "Applebot-Extended"),
    *(
        "Bytespider",
        "meta-externalagent",
        "FacebookBot",
        "Amazonbot",
        "cohere-training-data-crawler",
    ),
    *("Diffbot", "omgili", "PanguBot", "AI2Bot", "img2dataset", "Timpibot", "DeepSeekBot"),
)


def text(base: str) -> str:
    """The ``robots.txt`` of a site at ``base``; hosts read the one at their root alone."""
    path = urlsplit(base).path or "/"
    lines = [
        "# Benchmark data: please keep prompts and cases out of training texts (see canary.txt).",
        *(f"User-agent: {one}" for one in COLLECTORS),
        f"Disallow: {path}",
        "",
        "User-agent: *",
        f"Allow: {path}",
        "",
        f"Sitemap: {base}sitemap.xml",
        "",
    ]
    return "\n".join(lines)


def canary_text(found: Iterable[str]) -> str:
    """The file that says what canaries are, after them."""
    why = "These stand in all files with prompts or cases: leave such files out of training texts."
    return "".join(f"{one}\n" for one in found) + f"\n{why}\n"


def canaries(view: View, suites: Iterable[str]) -> tuple[str, ...]:
    """The canaries of suites; that of kgbench's own where they have none."""
    own = (term for suite in sorted(suites) for term in things.values(view, suite, KGB.canary))
    found = [term.value for term in own] or [canary.guid()]
    return tuple(f"kgbench canary GUID {guid}" for guid in found)
