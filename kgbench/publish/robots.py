# SPDX-License-Identifier: Apache-2.0
"""What crawlers may take: all of it for readers and search, nothing for training."""

from __future__ import annotations

from urllib.parse import urlsplit

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
    ]
    return "\n".join(lines)
