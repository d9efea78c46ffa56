# SPDX-License-Identifier: Apache-2.0
r"""Extraction of the answer from a model's text, by versioned steps.

Some models write their reasoning before the answer. A model's setup names the step that separates
the two; the recorded text is always complete. A step never changes once it has a version: a better
rule is a new version, so that a recorded score names the rule that it depends on.

>>> find("think-block/1")("<think>Two nodes.</think>\n\nThe answer is 2.")
Extracted(text='The answer is 2.', reasoning='Two nodes.')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from kgbench.errors import ModelSpecError, nearest
from kgbench.model import ModelSetup, Reply
from kgbench.vocab import BASE

DEFAULT = "whole/1"

_OPEN = re.compile(r"<(?:think|thinking)>", re.IGNORECASE)
_LEADING = re.compile(r"\s*+<(?:think|thinking)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(?:think|thinking)>\s*", re.IGNORECASE)


class Extracted(NamedTuple):
    """The part of a text that is judged, and the reasoning that was separated from it, if any."""

    text: str
    reasoning: str | None = None


Step = Callable[[str], Extracted]


def whole(text: str) -> Extracted:
    """Return the whole text as the answer (the rule for published dialogues)."""
    return Extracted(text)


def after_think_blocks(text: str) -> Extracted:
    """Return the text after the leading ``<think>`` or ``<thinking>`` blocks as the answer.

    A closing tag without an opening one ends a block that the model's chat template has opened;
    a block that never ends leaves an empty answer. Later tags are part of the answer.
    """
    thoughts = []
    position = 0
    closing = _CLOSE.search(text)
    if closing is not None and _OPEN.search(text, 0, closing.start()) is None:
        thought, position = _until_closing_tag(text, position)
        thoughts.append(thought)
    while opening := _LEADING.match(text, position):
        thought, position = _until_closing_tag(text, opening.end())
        thoughts.append(thought)
    return Extracted(text[position:], "\n\n".join(thoughts)) if thoughts else Extracted(text)


_TAGGED = re.compile(
    r"\s*+(?:<(think|thinking|thought|thoughts|reasoning|seed:think)>(.*?)(?:</\1>|\Z)"
    r"|\[(think)\](.*?)(?:\[/think\]|\Z)"
    r"|◁(think)▷(.*?)(?:◁/think▷|\Z)"
    r"|<\|(begin_of_thought)\|>(.*?)(?:<\|end_of_thought\|>|\Z))\s*",
    re.IGNORECASE | re.DOTALL,
)
_FINAL = re.compile(
    r"<\|(?:begin|end)_of_solution\|>", re.IGNORECASE
)  # around the answer after a block begin_of_thought


def after_reasoning_blocks(text: str) -> Extracted:
    """Return the text after the leading blocks of reasoning, in the marks of many models.

    Beside the blocks of :func:`after_think_blocks`, which are tried first, these are ``<thought>``,
    ``<reasoning>``, ``<seed:think>``, ``[THINK]`` (Magistral), ``◁think▷`` (Kimi) and
    ``<|begin_of_thought|>``. A block that never ends leaves an empty answer.
    """
    first = after_think_blocks(text)
    if first.reasoning is not None:
        return first
    thoughts, position = [], 0
    while (block := _TAGGED.match(text, position)) is not None and block.end() > position:
        thoughts += [part.strip() for part in block.groups()[1::2] if part is not None]
        position = block.end()
    if not thoughts:
        return Extracted(text)
    return Extracted(_FINAL.sub("", text[position:]), "\n\n".join(thoughts))


_CHANNEL = re.compile(
    r"(?:<\|start\|>\w*)?<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)"
    r"(?:<\|(?:end|return|call)\|>|(?=<\|start\|>|<\|channel\|>)|\Z)\s*",
    re.DOTALL,
)
_BARE_CHANNELS = re.compile(r"\s*+analysis(.*?)assistantfinal(.*)", re.DOTALL)


def final_channel(text: str) -> Extracted:
    """Return the channel ``final`` as the answer; all other channels are reasoning.

    These are the channels of the harmony format of gpt-oss, also where a server has removed the
    marks between them (``analysis...assistantfinal...``). Without a final channel the answer is
    empty.
    """
    bare = _BARE_CHANNELS.fullmatch(text)
    if bare is not None:
        return Extracted(bare[2].strip(), bare[1].strip())
    if not text.lstrip().startswith(("<|channel|>", "<|start|>")):
        return Extracted(text)
    channels = _CHANNEL.findall(text)
    if not channels:
        return Extracted(text)
    final = [said.strip() for name, said in channels if name == "final"]
    thoughts = [said.strip() for name, said in channels if name != "final"]
    return Extracted("\n\n".join(final), "\n\n".join(thoughts))


def _until_closing_tag(text: str, start: int) -> tuple[str, int]:
    """Return the text from ``start`` to the next closing tag, and the position after that tag."""
    closing = _CLOSE.search(text, start)
    if closing is None:
        return text[start:].strip(), len(text)
    return text[start : closing.start()].strip(), closing.end()


STEPS: dict[str, Step] = {
    "whole/1": whole,
    "think-block/1": after_think_blocks,
    "think-block/2": after_reasoning_blocks,
    "channels/1": final_channel,
}


def fitting(text: str) -> str | None:
    """Return the name of the first step that separates reasoning from ``text``, if there is one."""
    return next((name for name, step in STEPS.items() if step(text).reasoning is not None), None)


def find(name: str) -> Step:
    """Return the step called ``name`` (with its version).

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, if there is none.
    """
    if name not in STEPS:
        raise ModelSpecError(f"there is no answer extraction '{name}': {nearest(name, STEPS)}")
    return STEPS[name]


def of(setup: ModelSetup) -> Step:
    """Return the step that ``setup`` names with the option ``extraction``, else the default."""
    return find(setup.options.get("extraction", DEFAULT))


def extracted(setup: ModelSetup, reply: Reply) -> Reply:
    """Return ``reply`` with the answer extracted by the step of ``setup``; its text is kept."""
    name = setup.options.get("extraction", DEFAULT)
    result = find(name)(reply.text)
    if result.text == reply.text:
        return reply
    reasoning = "\n\n".join(part for part in (reply.reasoning, result.reasoning) if part)
    return replace(reply, extracted=result.text, extraction=iri(name), reasoning=reasoning or None)


def iri(name: str) -> str:
    """Return the IRI of a step in results."""
    find(name)
    return f"{BASE}extraction/{name}"
