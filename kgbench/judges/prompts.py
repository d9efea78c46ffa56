# SPDX-License-Identifier: Apache-2.0
"""What a judge is asked: a rubric, and material between marks that its authors cannot know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template
from typing import NamedTuple

from kgbench import resources
from kgbench.judges.rubrics import Rubric
from kgbench.rdf import digest
from kgbench.tasks import canary

_DIGITS = 16  # of the mark: the digest of the material itself, which no part of it can contain


class Piece(NamedTuple):
    """A text that a judge is shown, under a title of ours."""

    title: str
    text: str


def prompt(rubric: Rubric, order: Sequence[str], material: Sequence[Piece]) -> str:
    """The one message to a judge; ``order`` has the names of the options as they are shown.

    Each piece of material stands between lines with a mark made of the digest of all of them, so
    that no text can close its own part or open another one.
    """
    mark = _mark(material)
    return _template().substitute(
        **_words(rubric, order), mark=mark, material="\n".join(_marked(mark, material))
    )


def prompt_template(rubric: Rubric) -> str:
    """What every judge is asked by a rubric, with ``$mark`` and ``$material`` in their places.

    The options stand as they are declared.
    """
    return _template().safe_substitute(_words(rubric, [option.name for option in rubric.options]))


def _words(rubric: Rubric, order: Sequence[str]) -> dict[str, str]:
    options = {option.name: option.definition for option in rubric.options}
    return {
        "criterion": rubric.criterion,
        "note": rubric.note,
        "options": "\n".join(f"* {name}: {options[name]}" for name in order),
        "examples": "\n".join(f"* {one.text} VERDICT: {one.verdict}" for one in rubric.examples),
    }


def _mark(material: Iterable[Piece]) -> str:
    texts = [part for piece in material for part in piece]
    return f"=== {digest(chr(0).join(texts))[:_DIGITS]}"


def _marked(mark: str, material: Iterable[Piece]) -> Iterable[str]:
    for piece in material:
        yield f"{mark} {piece.title}"
        yield piece.text
    yield f"{mark} end"


def _template() -> Template:
    return Template(canary.without_line(resources.text("rubrics", "prompt.txt")).strip())
