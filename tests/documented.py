# SPDX-License-Identifier: Apache-2.0
"""The pages of ``docs/`` as a reader follows them: files, commands and expected outputs.

A block marked ``LANGUAGE file=NAME`` is a file. A block marked ``console`` is a session: commands
after ``$``, with here documents and continued lines, then their output. A line ``...`` of an output
stands for any lines; a command without output must only succeed, and one that ends with ``&`` is a
server, which runs until the end of the page. A block with another word in its mark, such as
``console published``, is left to the test that has what it needs.

``python -m tests.documented PAGE ...`` writes the outputs of pages anew; a line ``?`` in the page
is a placeholder for a first output. ``python -m tests.documented --files PAGE FOLDER`` writes the
files of a page.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from tests.readme import lasting, tidy
from tests.support import documented_package

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: The folder and the port that the pages show instead of those of a test.
SHOWN_FOLDER, SHOWN_PORT = "/path/to/folder", "8080"
TIMES = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|\+00:00| UTC))?")
DIGESTS = re.compile(r"(?<=/)(\d+-)(?:[0-9a-f]{8}){1,2}\b")
IDENTIFIERS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def free_port() -> int:
    """Return a free port of the loopback interface.

    It is below the range of ephemeral ports, so it is still free much later.
    """
    for port in random.SystemRandom().sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


class File(NamedTuple):
    """A file that a page tells its reader to write."""

    name: str
    text: str


class Command(NamedTuple):
    """A command of a page: its lines after ``$``, and its output on the page."""

    text: str
    output: str


def page(name: str) -> str:
    """Return the text of the page ``docs/NAME``."""
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the blocks of a page: mark and content of each."""
    return BLOCK.findall(text)


def steps(text: str) -> Iterator[File | Command]:
    """Yield the files and commands of a page, in order."""
    for mark, body in blocks(text):
        named = re.fullmatch(r"\w+ file=(\S+)", mark)
        if named:
            yield File(named[1], body)
        elif mark == "console":
            yield from commands(body)


def commands(body: str) -> Iterator[Command]:
    """Yield the commands of a session."""
    lines = iter([*body.splitlines(keepends=True), ""])
    line = next(lines)
    while line:
        assert line.startswith("$ "), line
        command, output = [line[2:]], ""
        until = re.search(r"<<'(\w+)'", line)
        while until or command[-1].endswith("\\\n"):
            command.append(next(lines))
            if until and command[-1] == f"{until[1]}\n":
                break
        line = next(lines)
        while line and not line.startswith("$ "):
            output += line
            line = next(lines)
        yield Command("".join(command), output)


class Reader:
    """A reader who follows a page, in an empty folder and with a store of their own.

    If the page installs a package, a virtual environment is made, in which ``pip install`` builds
    and installs its wheel. That environment also sees kgbench and its dependencies.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.port = str(free_port())
        self._servers: list[subprocess.Popen[str]] = []
        programs = folder / ".programs"
        programs.mkdir()
        self._write_programs(Path(sys.executable))
        own = {name: value for name, value in os.environ.items() if "KGBENCH" not in name}
        self.environment = own | {
            "PATH": f"{programs}{os.pathsep}{own['PATH']}",
            "KGBENCH_STORE": str(folder / "kgbench-results"),
            "KGBENCH_DATASETS": str(folder / "datasets"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "OPENAI_API_KEY": "as readers have set",
            **variables,
        }

    def does(self, step: File | Command) -> str:
        """Write the file, or run the command and return its output."""
        if isinstance(step, File):
            path = self.folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            return ""
        own = self.folder / ".environment"
        if step.text.startswith("pip install") and not own.exists():
            self._write_programs(documented_package.environment(own))
        text = step.text.replace(SHOWN_PORT, self.port)
        said = self._begins(text) if text.rstrip().endswith("&") else self._gives(text)
        shown = said.replace(str(self.folder), SHOWN_FOLDER)
        return tidy(shown.replace(f":{self.port}", f":{SHOWN_PORT}"))  # never part of an identifier

    def _write_programs(self, python: Path) -> None:
        """Write the commands of the page as scripts; only ``python`` finds modules beside it."""
        offline = "--no-build-isolation --no-deps --no-index --disable-pip-version-check"
        for name, words, more in (
            ("kgbench", "-P -m kgbench", ""),
            ("python", "", ""),
            ("pytest", "-m pytest", ""),
            ("pip", "-P -m pip", offline),
        ):
            program = self.folder / ".programs" / name
            program.write_text(f'#!/bin/sh\nexec "{python}" {words} "$@" {more}\n')
            program.chmod(0o755)

    def _gives(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}{done.stdout}"
        return done.stdout

    def _begins(self, command: str) -> str:
        """Start a server and return its first three lines, which it prints before it serves."""
        started = subprocess.Popen(
            ["bash", "-c", f"exec {command.rstrip().removesuffix('&')}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._servers.append(started)
        assert started.stdout is not None
        return "".join(started.stdout.readline() for _ in range(3))

    def stops(self) -> None:
        """Stop the started servers."""
        for server in self._servers:
            server.terminate()
            server.communicate(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stops()


def agrees(shown: str, said: str) -> bool:
    """Return whether a page shows the output of a command, apart from what differs in every run."""
    whole = re.split(r"^\.\.\.\n", masked(shown), flags=re.MULTILINE)
    parts = [re.escape(part).replace(r"\.\.\.", "[^\n]*") for part in whole]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), masked(said)) is not None


def masked(text: str) -> str:
    """Return ``text`` without identifiers, times and seconds."""
    text = TIMES.sub("...", IDENTIFIERS.sub("...", lasting(text)))
    return re.sub(r" +", " ", DIGESTS.sub(r"\1...", text))


def renewed(text: str, folder: Path) -> str:
    """Return a page with current outputs, except where it shows an output in part."""
    with Reader(folder) as reader:
        for step in steps(text):
            said = reader.does(step)
            if isinstance(step, Command) and step.output and "..." not in step.output:
                text = text.replace(f"$ {step.text}{step.output}", f"$ {step.text}{said}", 1)
    return text


def main() -> None:
    """Rewrite the named pages, or write the files of one page into a folder."""
    if sys.argv[1:2] == ["--files"]:
        name, folder = sys.argv[2], Path(sys.argv[3])
        for step in steps(page(name)):
            if isinstance(step, File):
                (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / step.name).write_text(step.text, encoding="utf-8")
        return
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            text = renewed(page(name), Path(folder))
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
