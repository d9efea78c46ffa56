# SPDX-License-Identifier: Apache-2.0
"""The commented starter configuration that ``kgbench init`` writes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from kgbench import config
from kgbench.config.planning import DEFAULT_SUITE
from kgbench.config.trees import without_keys
from kgbench.errors import ConfigurationError, Finding

FILE = "kgbench.yaml"


@dataclass(frozen=True, slots=True)
class Choices:
    """The content of a starter configuration; its defaults run without a provider.

    ``models`` are specifications, ``tasks`` labels or globs, ``max_cost`` is in US dollars.
    """

    models: Sequence[str] = ("baseline:oracle", "baseline:noisy?rate=0.3&seed=7")
    tasks: Sequence[str] = ("FactExtractStatic", "RdfFriendCount-*-1")
    suite: str = DEFAULT_SUITE
    iterations: int = 5
    max_cost: Decimal | None = None


def write(path: Path, choices: Choices, keys: Mapping[str, str]) -> None:
    """Write the configuration ``choices`` to the new file ``path``.

    ``keys`` has the environment variables of models' keys, by specification. Raises
    :class:`~kgbench.errors.ConfigurationError` if the configuration would be refused or ``path``
    exists; then nothing is written.
    """
    text = configuration_text(choices, keys)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / path.name
        draft.write_text(text, encoding="utf-8")
        findings = config.validate(draft)
    if findings:
        raise ConfigurationError([replace(finding, source=str(path)) for finding in findings])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = "there is a file already, and it is left as it is: name another folder"
        raise ConfigurationError([without_keys(Finding(str(path), "", message))]) from None


def configuration_text(choices: Choices, keys: Mapping[str, str]) -> str:
    """Return the text of a configuration; see :func:`write`."""
    lines = [
        "# What `kgbench run` measures. `kgbench validate` checks this file without running it.",
        "",
        '# Labels of tasks, or patterns over them: `kgbench tasks list` shows them all; "*" takes',
        '# every one, and "RdfFriendCount*" all tasks of a class.',
        "tasks:",
        *_entries(choices.tasks),
        "",
        "# CONNECTOR:NAME, with an address after @ and parameters after ?, such as",
        "# openai:NAME@http://127.0.0.1:8000/v1?temperature=0. Keys are read from the environment",
        "# and never written here. baseline models need no provider.",
        "models:",
    ]
    for model in choices.models:
        if model in keys:
            lines.append(f"  # its key is read from {keys[model]}")
        lines += _entries([model])
    lines += [
        "",
        "# Dialogues per task and model; cases are taken in turn.",
        f"iterations: {choices.iterations}",
        "",
        "# Whose cases are asked: those of kgbench, or of another suite.",
        f"suite: {json.dumps(choices.suite)}",
        "",
        "# The run stops when it has cost this, in US dollars.",
        "# maxCost: 5" if choices.max_cost is None else f"maxCost: {choices.max_cost:f}",
        "",
        "# More keys, with their defaults:",
        "# concurrency: 16        # model calls under way at once",
        "# callTimeout: 300       # seconds for one answer",
        "# requestsPerMinute: 60  # for each model; no limit by default",
        "# seed: 0                # of generated cases",
    ]
    return "\n".join([*lines, ""])


def _entries(values: Sequence[str]) -> list[str]:
    # A JSON string is a double-quoted YAML string.
    return [f"  - {json.dumps(value, ensure_ascii=False)}" for value in values]
