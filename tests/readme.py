# SPDX-License-Identifier: Apache-2.0
"""The commands in README.md and their outputs; ``make readme`` writes it anew.

A block of README.md marked ``console`` is a session: a command after ``$``, possibly with a here
document, then its output. All sessions but ``make test`` are run, in order, on one fresh store.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = ".venv/bin/kgbench"
#: The folder that README.md shows instead of that of a test.
SHOWN_STORE = "/path/to/kgbench/store/results"
#: Parts that differ between runs: identifiers and durations, also on a slow machine.
CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b(?:\d+ min )?\d+(?:\.\d+)? s$",
    re.MULTILINE,
)


class Session(NamedTuple):
    """One block: the lines up to the output, the shell command, and the output as shown."""

    head: str
    command: str
    output: str


def sessions(text: str) -> Iterator[Session]:
    """Yield the sessions of a README, except ``make test``."""
    for block in BLOCK.findall(text):
        first, _, rest = block.partition("\n")
        command = first.removeprefix("$ ")
        if command == "make run":
            setting_up, start, output = rest.partition(f"{COMMAND} run\n")
            yield Session(f"{first}\n{setting_up}{start}", f"{COMMAND} run", output)
        elif mark := re.search(r"<<'(\w+)'$", command):
            document, end, output = rest.partition(f"\n{mark[1]}\n")
            head = f"{first}\n{document}{end}"
            yield Session(head, head.removeprefix("$ "), output)
        elif command != "make test":
            yield Session(f"{first}\n", command, rest)


def said(session: Session, store: Path) -> str:
    """Return the output of the command of ``session``, with ``store`` as the default store."""
    command = session.command.replace(COMMAND, f"{shlex.quote(sys.executable)} -m kgbench", 1)
    environment = dict(os.environ, KGBENCH_STORE=str(store), COLUMNS="100", NO_COLOR="1")
    environment["PATH"] = "/usr/bin:/bin"  # as in a shell without the virtual environment
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=store.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{session.command}\n{done.stderr}")
    programs = str(Path(sys.executable).parent)
    return tidy(done.stdout).replace(str(store), SHOWN_STORE).replace(programs, ".venv/bin")


def tidy(text: str) -> str:
    """Return ``text`` without trailing spaces and without empty lines at both ends."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"


def lasting(text: str) -> str:
    """Return ``text`` with the parts that differ between runs masked."""
    return CHANGING.sub("...", text)


def renewed(text: str, folder: Path) -> str:
    """Return the README with current outputs; sessions run in the empty ``folder``."""
    for session in sessions(text):
        old = session.head + session.output
        text = text.replace(old, session.head + said(session, folder / "results"), 1)
    return text


def main() -> None:
    """Rewrite README.md in place."""
    with tempfile.TemporaryDirectory() as folder:
        text = renewed(README.read_text(encoding="utf-8"), Path(folder))
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
