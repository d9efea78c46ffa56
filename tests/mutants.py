# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of ``kgbench.scoring``: ``make mutants``.

mutmut changes each function of the scorers in small ways, one at a time, and runs the tests of
scoring against every change. ``mutants.toml`` must list each change that no test detects, with the
reason why none can, and must list no other change.

mutmut skips functions with decorators, so it gets an equivalent copy that applies decorators after
the function. It does not change code outside functions.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "mutants"
JUSTIFIED = Path(__file__).with_suffix(".toml")
SCORING = Path("kgbench") / "scoring"
TESTS = ("test_scoring_*.py", "test_text2kg_scoring.py")
NOTICED = ("killed", "timeout")
MEMORY = 2 << 30  # bytes; an endless loop of a mutant may allocate memory


class Mutant(NamedTuple):
    """A change of a function: the lines that it replaces, and the new lines."""

    function: str
    was: str
    becomes: str


def undecorated(source: str) -> str:
    """Return ``source`` with decorators applied after each function: ``name = decorator(name)``."""
    lines = source.splitlines(keepends=True)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):
        if node.decorator_list:
            start = " " * node.col_offset + node.name
            lines[node.end_lineno : node.end_lineno] = [
                f"{start} = {ast.unparse(decorator)}({node.name})\n"
                for decorator in reversed(node.decorator_list)
            ]
            del lines[node.decorator_list[0].lineno - 1 : node.lineno - 1]
    return "".join(lines)


def justified() -> list[Mutant]:
    """Return the mutants of ``mutants.toml``."""
    listed = tomllib.loads(JUSTIFIED.read_text(encoding="utf-8")).get("mutant", [])
    return [Mutant(each["function"], each["was"], each["becomes"]) for each in listed]


def complaints(survivors: Iterable[Mutant], listed: Iterable[Mutant]) -> list[str]:
    """Return the errors in the list of justified mutants, given the survivors."""
    found, named = Counter(survivors), Counter(listed)
    unlisted = [("survived and is not justified", each) for each in (found - named).elements()]
    stale = [("is justified and does not survive", each) for each in (named - found).elements()]
    return [
        f"{what}: {each.function}\n  - {each.was}\n  + {each.becomes}"
        for what, each in unlisted + stale
    ]


def prepare() -> None:
    """Copy mutmut's input to :data:`FOLDER`."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(
        ROOT / "kgbench",
        FOLDER / "kgbench",
        ignore=shutil.ignore_patterns("__pycache__", "static"),
    )
    shutil.copy(ROOT / "pyproject.toml", FOLDER)
    (FOLDER / "tests").mkdir()
    for pattern in ("__init__.py", *TESTS):
        for path in (ROOT / "tests").glob(pattern):
            shutil.copy(path, FOLDER / "tests")
    for path in (FOLDER / SCORING).glob("*.py"):
        path.write_text(undecorated(path.read_text(encoding="utf-8")), encoding="utf-8")


def results() -> tuple[Counter[str], list[Mutant]]:
    """Return the number of mutants in :data:`FOLDER` by status, and the surviving mutants."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.format_utils import orig_function_and_class_names_from_key

    ended: Counter[str] = Counter()
    survivors = []
    for meta in sorted(Path("mutants", SCORING).glob("*.py.meta")):
        path = SCORING / meta.stem
        for key, code in json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"].items():
            status = status_by_exit_code[code]
            ended[status] += 1
            if status not in NOTICED:
                name, owner = orig_function_and_class_names_from_key(key)
                changed = get_diff_for_mutant(key, path=path).splitlines()[2:]
                was, becomes = (
                    "\n".join(line[1:].strip() for line in changed if line[0] == sign)
                    for sign in "-+"
                )
                owned = name if owner is None else f"{owner}.{name}"
                survivors.append(Mutant(f"{path.stem}.{owned}", was, becomes))
    return ended, survivors


def main(workers: str = "1") -> int:
    """Run mutmut and print the findings; return 1 if the list of justified mutants is wrong."""
    prepare()
    os.chdir(FOLDER)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    mutmut = Path(sys.executable).with_name("mutmut")
    done = subprocess.run([mutmut, "run", "--max-children", workers], check=False)
    if done.returncode:
        return done.returncode
    ended, survivors = results()
    wrong = complaints(survivors, justified())
    noticed = sum(ended[status] for status in NOTICED)
    total = f"{ended.total()} mutants, {noticed} noticed, {len(survivors)} not ({dict(ended)})"
    sys.stdout.write("".join(f"{line}\n" for line in (*wrong, total)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
