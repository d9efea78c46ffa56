# SPDX-License-Identifier: Apache-2.0
"""Rules for crawlers (everything may be read, nothing used for training), and canaries."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.tasks import canary
from kgbench.vocab import KGB

#: User agents of crawlers that collect training texts.
COLLECTORS = (
    "GPTBot",
    "CCBot",
    "ClaudeBot",
    "anthropic-ai",
    "Google-Extended",
    "Applebot-Extended",
    "Bytespider",
    "meta-externalagent",
    "FacebookBot",
    "Amazonbot",
    "cohere-training-data-crawler",
    "Diffbot",
    "omgili",
    "PanguBot",
    "AI2Bot",
    "img2dataset",
    "Timpibot",
    "DeepSeekBot",
)


def text(base: str) -> str:
    """Return ``robots.txt`` for a site at ``base``; crawlers read only the one at a host's root."""
    path = urlsplit(base).path or "/"
    lines = [
        "# Benchmark data: please exclude prompts and cases from training data (see canary.txt).",
        *(f"User-agent: {agent}" for agent in COLLECTORS),
        f"Disallow: {path}",
        "",
        "User-agent: *",
        f"Allow: {path}",
        "",
        f"Sitemap: {base}sitemap.xml",
        "",
    ]
    return "\n".join(lines)


def canary_text(lines: Iterable[str]) -> str:
    """Return the file that lists and explains canaries."""
    why = (
        "All files with prompts or cases contain these lines: "
        "exclude such files from training data."
    )
    return "".join(f"{line}\n" for line in lines) + f"\n{why}\n"


def canaries(view: View, suites: Iterable[str]) -> tuple[str, ...]:
    """Return the canaries of suites; kgbench's own if they have none."""
    declared = (term for suite in sorted(suites) for term in things.values(view, suite, KGB.canary))
    guids = [term.value for term in declared] or [canary.guid()]
    return tuple(f"kgbench canary GUID {guid}" for guid in guids)
