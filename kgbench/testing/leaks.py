# SPDX-License-Identifier: Apache-2.0
"""Detection of prompts and feedback that reveal the reference answer.

A prompt may show a document that contains the answer, so names or values of the answer in a prompt
are no leak. A leak is

* the whole reference answer, if it has several lines, or if it is long and occurs outside the
  texts of the case, which a prompt may show;
* a field of the case that makes up the whole reference answer and that the prompt shows: if the
  field is given another value, that value appears both in the answer and in the prompt.

Fences around the reference answer are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kgbench.model import Case, Json, TaskModule
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue

_LONG = 60  # characters; labels in graphs are shorter, queries and statements mostly longer
_MARKER = "zqxleak"  # prefix of replacement values, which occurs in no prompt
_SEPARATORS = re.compile(r"[\s,;.*•-]*")  # between the values of a list


def prompt_leak(module: TaskModule, case: Case) -> str | None:
    """Return how the prompt of ``case`` reveals the reference answer; ``None`` if it does not."""
    prompt, reference = module.prompt(case), _unfenced(module.reference(case))
    if not reference:
        return None
    if "\n" in reference and reference in prompt:
        return "contains the reference answer"
    if len(reference) >= _LONG and reference in _without_texts(prompt, case, reference):
        return "contains the reference answer"
    for path, value in _fields(case.data):
        if _is_whole_answer(value, reference) and _is_copied(module, case, path, value):
            return f"shows the field '{'/'.join(path)}' of the case, which is the reference answer"
    return None


def reveals_reference(module: TaskModule, case: Case, feedback: str) -> bool:
    """Return whether feedback contains a reference answer that is long or has several lines."""
    reference = _unfenced(module.reference(case))
    return ("\n" in reference or len(reference) >= _LONG) and reference in feedback


def _unfenced(reference: str) -> str:
    """Return a reference answer without surrounding white space and fences."""
    blocks = list(fenced_blocks(reference))
    return (blocks[0].body if len(blocks) == 1 else reference).strip()


def _without_texts(prompt: str, case: Case, reference: str) -> str:
    """Return the prompt without texts of the case that contain the reference answer and more."""
    for text in sorted(map(str.strip, _texts(case.data)), key=len, reverse=True):
        if reference in text and text != reference:
            prompt = prompt.replace(text, "\0")
    return prompt


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_whole_answer(value: Json, reference: str) -> bool:
    """Return whether the value or values of a field make up the whole reference answer."""
    remaining = reference
    for part in sorted(map(str, _values(value)), key=len, reverse=True):
        if not part.strip() or part.strip() not in remaining:
            return False
        remaining = remaining.replace(part.strip(), "")
    return remaining != reference and _SEPARATORS.fullmatch(remaining) is not None


def _values(value: Json) -> list[Json]:
    """Return the values of a scalar or a list of scalars; empty for other structures."""
    values = value if isinstance(value, list) else [value]
    are_scalars = all(isinstance(item, str | int | float) for item in values)
    return values if are_scalars and not isinstance(value, bool) else []


def _fields(data: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the fields of a case with their paths, nested fields included."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from (((name, *path), inner) for path, inner in _fields(value))
        else:
            yield (name,), value


def _with_value(data: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    name, *rest = path
    return {**data, name: _with_value(data[name], tuple(rest), value) if rest else value}


def _is_copied(module: TaskModule, case: Case, path: tuple[str, ...], old: Json) -> bool:
    """Return whether a replaced value of a field appears in both the answer and the prompt."""
    replacements = [f"{_MARKER}{number}" for number, _ in enumerate(_values(old))]
    data = _with_value(case.data, path, replacements if isinstance(old, list) else replacements[0])
    changed = catalogue.make_case(case.suite, case.task_class, case.parameters, data, case.uid)
    try:
        prompt, reference = module.prompt(changed), module.reference(changed)
    except Exception:  # noqa: BLE001 - the field cannot hold an arbitrary text
        return False
    return all(replacement in prompt and replacement in reference for replacement in replacements)
