# SPDX-License-Identifier: Apache-2.0
"""Prompts of judges: a rubric, and material between marks that its authors cannot predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template
from typing import NamedTuple

from kgbench import resources
from kgbench.judges.rubrics import Rubric
from kgbench.rdf import digest
from kgbench.tasks import canary

_DIGITS = 16  # of the mark, a digest of the material, which the material itself cannot contain


class Piece(NamedTuple):
    """A text that a judge is shown, with a title."""

    title: str
    text: str


def prompt(rubric: Rubric, order: Sequence[str], material: Sequence[Piece]) -> str:
    """Return the message to a judge; ``order`` has the names of the options in their order.

    Lines with a mark, a digest of all the material, delimit each piece, so that no text can end its
    own piece or begin another one.
    """
    mark = _mark(material)
    return _template().substitute(
        **_substitutions(rubric, order), mark=mark, material="\n".join(_marked(mark, material))
    )


def prompt_template(rubric: Rubric) -> str:
    """Return the prompt of a rubric with the placeholders ``$mark`` and ``$material``.

    Options are in their declared order.
    """
    return _template().safe_substitute(
        _substitutions(rubric, [option.name for option in rubric.options])
    )


def _substitutions(rubric: Rubric, order: Sequence[str]) -> dict[str, str]:
    options = {option.name: option.definition for option in rubric.options}
    return {
        "criterion": rubric.criterion,
        "note": rubric.note,
        "options": "\n".join(f"* {name}: {options[name]}" for name in order),
        "examples": "\n".join(
            f"* {example.text} VERDICT: {example.verdict}" for example in rubric.examples
        ),
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
