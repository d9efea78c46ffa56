# SPDX-License-Identifier: Apache-2.0
"""Prompts that give the reference answer away.

A document that is shown may hold the answer: that is what questions about documents are. So it is
no leak that names or values of the answer occur in a prompt. A leak is

* the whole reference answer, where it has several lines, or is long and stands outside of the
  texts of the case, which a prompt may show;
* a field of the case that makes up the whole reference answer, and that the prompt shows: where
  the field gets another value, both the answer and the prompt have it.

Fences around the reference answer are no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kgbench.model import Case, Json, TaskModule
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue

_LONG = 60  # characters; labels in graphs are shorter, queries and statements mostly longer
_OTHER = "zqxleak"  # begins values that no prompt has
_BETWEEN = re.compile(r"[\s,;.*•-]*")  # what may stand between the values of a list


def leak(module: TaskModule, case: Case) -> str | None:
    """How the prompt of ``case`` gives the reference answer away; ``None`` where it does not."""
    prompt, reference = module.prompt(case), _content(module.reference(case))
    if not reference:
        return None
    if "\n" in reference and reference in prompt:
        return "contains the reference answer"
    if len(reference) >= _LONG and reference in _without_texts(prompt, case, reference):
        return "contains the reference answer"
    for path, value in _fields(case.data):
        if _makes_up(value, reference) and _is_shown(module, case, path, value):
            return f"shows the field '{'/'.join(path)}' of the case, which is the reference answer"
    return None


def is_told(module: TaskModule, case: Case, feedback: str) -> bool:
    """Whether feedback on no answer contains the reference answer, of several lines or long."""
    reference = _content(module.reference(case))
    return ("\n" in reference or len(reference) >= _LONG) and reference in feedback


def _content(reference: str) -> str:
    """A reference answer without white space around it, and without the fences around it all."""
    blocks = list(fenced_blocks(reference))
    return (blocks[0].body if len(blocks) == 1 else reference).strip()


def _without_texts(prompt: str, case: Case, reference: str) -> str:
    """The prompt without the texts of the case that hold more than the reference answer."""
    for text in sorted(map(str.strip, _texts(case.data)), key=len, reverse=True):
        if reference in text and text != reference:
            prompt = prompt.replace(text, "\0")
    return prompt


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _makes_up(value: Json, reference: str) -> bool:
    """Whether a field is the whole reference answer: one value, or those of a list."""
    rest = reference
    for each in sorted(map(str, _values(value)), key=len, reverse=True):
        if not each.strip() or each.strip() not in rest:
            return False
        rest = rest.replace(each.strip(), "")
    return rest != reference and _BETWEEN.fullmatch(rest) is not None


def _values(value: Json) -> list[Json]:
    """A single value or those of a list; none of what holds other structures."""
    values = value if isinstance(value, list) else [value]
    plain = all(isinstance(each, str | int | float) for each in values)
    return values if plain and not isinstance(value, bool) else []


def _fields(data: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The fields of a case with their paths, also those within other fields."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from (((name, *path), inner) for path, inner in _fields(value))
        else:
            yield (name,), value


def _with(data: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    name, *rest = path
    return {**data, name: _with(data[name], tuple(rest), value) if rest else value}


def _is_shown(module: TaskModule, case: Case, path: tuple[str, ...], old: Json) -> bool:
    """Whether other values of a field come into the answer and into the prompt, too."""
    others = [f"{_OTHER}{number}" for number, _ in enumerate(_values(old))]
    data = _with(case.data, path, others if isinstance(old, list) else others[0])
    changed = catalogue.make_case(case.suite, case.task_class, case.parameters, data, case.uid)
    try:
        prompt, reference = module.prompt(changed), module.reference(changed)
    except Exception:  # noqa: BLE001 - the field is no text that could be put into a prompt
        return False
    return all(each in prompt and each in reference for each in others)
