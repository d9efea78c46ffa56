# SPDX-License-Identifier: Apache-2.0
"""What counts as a fenced block: every decision with an example, which a test carries out."""

from __future__ import annotations

from typing import Final, NamedTuple

INTRODUCTION = """\
## Fenced blocks

RdfSyntaxFixList, the query tasks and Text2KGRdf judge the fenced blocks of an answer. All other
task classes judge the whole answer and treat a fence like any other text. RdfSyntaxFixList uses the
first block, the query tasks use the first block that contains `SELECT`, and Text2KGRdf uses all
blocks. The decisions below hold for all of these task classes. The ground *published* means that
published answers and scores determine the decision. The ground *reader* means that they do not, and
that the decision follows the impression of a reader. `⏎` is a line break.

A fence is *plain* if its line contains only white space, `>`, a list marker and an info string
besides the fence. A block is *doubtful* if its closing fence is missing, if neither of its fences
is plain, or if it is on a single line.
"""


class Decision(NamedTuple):
    """What is decided about a form of answer: an example, the bodies of its blocks, the ground."""

    form: str
    answer: str
    bodies: tuple[str, ...]
    rule: str
    ground: str = "reader"


_P: Final = "published"

DECISIONS: Final = (
    Decision("fences on lines of their own", "```x\nA\n```", ("A\n",), "a block", _P),
    Decision("text around the block", "Here:\n```\nA\n```\nDone.", ("A\n",), "not part of it", _P),
    Decision("blanks behind a fence", "```x \nA\n```  ", ("A\n",), "ignored", _P),
    Decision("closing fence behind content", "```x\nA }```", ("A }",), "closes the block", _P),
    Decision(
        "content that ends in a fence, before a plain closing fence",
        "```x\nA ```\nB\n```",
        ("A ```\nB\n",),
        "content: plain fences pair up without it",
    ),
    Decision(
        "closing fence behind content, then another block",
        "```x\nA }```\nand\n```\nB\n```",
        ("A }", "B\n"),
        "closes the block: plain fences do not pair up without it",
    ),
    Decision(
        "text behind the closing fence", "```x\nA\n``` Done, I think.", ("A\n",), "no content"
    ),
    Decision("no closing fence", "```x\nA", ("A\n",), "a doubtful block, to the end of the answer"),
    Decision(
        "no closing fence before the next opening fence",
        "```x\nA\n```y\nB\n```",
        ("B\n",),
        "the first block is doubtful",
    ),
    Decision(
        "a fence too many",
        "```\nA\n```\n```\nDone.",
        ("A\n",),
        "what follows it is a doubtful block",
    ),
    Decision("opening fence behind text and colon", "So: ```x\nA\n```", ("A\n",), "opens a block"),
    Decision(
        "opening fence behind other text",
        "This ```x\nA\n```",
        ("A\n",),
        "opens a block where plain fences do not pair up without it",
    ),
    Decision(
        "prose that ends in a fence",
        "It ends with ```\n\n```\nA\n```",
        ("A\n",),
        "prose: plain fences pair up without it",
    ),
    Decision("both fences beside text", "So ```\nA }```", ("A }",), "a doubtful block"),
    Decision("code within a line", "Use ```A``` or `B`.", (), "prose"),
    Decision("a whole line of code", "```SELECT * {}```", ("SELECT * {}",), "a doubtful block"),
    Decision("one word between fences", "```turtle```", (), "prose"),
    Decision("LaTeX quotation marks", "``A''\n```\nB\n```", ("B\n",), "prose"),
    Decision(
        "content behind the opening fence",
        "```sparql SELECT *\n{}\n```",
        ("SELECT *\n{}\n",),
        "content where it follows a known language, or none, and has one of `{<?@:*[`",
    ),
    Decision("attributes behind the language", '```x a="b"\nA\n```', ("A\n",), "info string"),
    Decision("tildes", "~~~x\nA\n~~~", ("A\n",), "like backticks; each closes its own kind"),
    Decision("four backticks or more", "````x\nA\n````", ("A\n",), "a fence"),
    Decision(
        "shorter fences within longer ones",
        "````x\nA\n```\n````",
        ("A\n```\n",),
        "content: a closing fence is at least as long as the opening one",
    ),
    Decision(
        "blocks within a block of Markdown",
        "````markdown\n```x\nA\n```\n````",
        ("A\n",),
        "count in its place",
    ),
    Decision(
        "indented fences", "    ```x\n    A\n      B\n    ```", ("A\n  B\n",), "indentation goes"
    ),
    Decision("in a list", "1. ```x\n   A\n   ```", ("A\n",), "the item's indentation goes"),
    Decision("quoted", "> ```x\n> A\n> ```", ("A\n",), "the quotation marks go"),
    Decision("CRLF", "```x\r\nA\r\n```\r\n", ("A\n",), "lines end in LF"),
    Decision("several blocks", "```\nA\n```\n```\nB\n```", ("A\n", "B\n"), "in their order", _P),
    Decision("an empty block", "```\n```", ("",), "a block"),
    Decision("no fence", "A", (), "no block", _P),
)


def table() -> str:
    """Return the decisions as a section in Markdown."""
    lines = [INTRODUCTION, "| form | example | decision | ground |\n|---|---|---|---|"]
    for one in DECISIONS:
        example = one.answer.replace("\r\n", "⏎").replace("\n", "⏎").replace("|", "\\|")
        lines.append(
            f"| {one.form} | <code>{_escaped(example)}</code> | {one.rule} | {one.ground} |"
        )
    lines.append(
        "\nDoubtful blocks count only if the answer has no other block. An opening fence with "
        "an info string ends a block that was never closed.\n"
    )
    return "\n".join(lines)


def _escaped(text: str) -> str:
    escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "&#96;", "*": "&#42;", "~": "&#126;"}
    return "".join(escapes.get(character, character) for character in text)
