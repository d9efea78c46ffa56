# SPDX-License-Identifier: Apache-2.0
"""What is installed: kgbench itself, what it needs, and what its extras bring."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kgbench
from kgbench.doctor.conditions import Condition, State
from kgbench.software import this_software

#: What to import of a distribution to see that it works, where the name of the module differs.
MODULES = {
    "google-genai": "google.genai",
    "google-generativeai": "google.generativeai",
    "inspect-ai": "inspect_ai",
    "ruamel-yaml": "ruamel.yaml",
    "xlsxwriter": "xlsxwriter",
}
#: Distributions that are not imported to see whether they work: this one would take hold of a GPU.
_NOT_TRIED = frozenset({"vllm"})
_NOT_FOR_USERS = frozenset({"all", "dev"})
_LIMIT = 120.0  # seconds for importing everything
_TRY = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    print(json.dumps([name, None]), flush=True)
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(json.dumps([name, f"{type(error).__name__}: {error}"[:300]]), flush=True)
    else:
        print(json.dumps([name, ""]), flush=True)
"""


def software() -> Iterator[Condition]:
    """Yield the version and state of kgbench, and the Python that runs it."""
    this = this_software()
    words = this.version
    if this.commit is not None:
        words += f", commit {this.commit[:12]}{' with changes' if this.dirty else ''}"
    place = str(Path(kgbench.__file__).parent)
    facts = {"version": this.version, "commit": this.commit, "dirty": this.dirty, "place": place}
    yield Condition("software", "kgbench", State.OK, f"{words}, in {place}", None, facts)
    version = platform.python_version()
    yield Condition(
        "software",
        "python",
        State.OK,
        f"{version} ({platform.system()} {platform.machine()}), {sys.executable}",
        None,
        {"version": version, "system": platform.system(), "executable": sys.executable},
    )


def dependencies() -> Iterator[Condition]:
    """Yield what kgbench cannot do without."""
    try:
        needed = [one for one in _requirements() if one.marker is None]
    except metadata.PackageNotFoundError:
        advice = pip("kgbench")
        words = "kgbench is not installed: its code is found, but no task class and no connector is"
        yield Condition("software", "installation", State.BROKEN, words, advice)
        return
    wrong = [_requirement(one, "software", pip("--upgrade", "kgbench")) for one in needed]
    broken = [one for one in wrong if one is not None]
    yield from broken
    tried = _importing([one.name for one in needed if installed(one.name) is not None])
    for name, said in tried.items():
        if said:
            again = pip("--force-reinstall", name)
            yield Condition("software", name, State.BROKEN, f"cannot be imported: {said}", again)
    if not broken and not any(tried.values()):
        words = f"all {len(needed)} are there and can be imported"
        facts = {one.name: installed(one.name) for one in needed}
        yield Condition("software", "dependencies", State.OK, words, None, facts)


def extras() -> Iterator[Condition]:
    """Yield each extra: there, missing with the command that brings it, or broken."""
    try:
        by_extra = {name: _of_extra(name) for name in _extras()}
    except metadata.PackageNotFoundError:
        return
    there = {
        one.name
        for needed in by_extra.values()
        for one in needed
        if installed(one.name) is not None
    }
    tried = _importing(sorted(there - _NOT_TRIED))
    for extra, needed in by_extra.items():
        yield _extra(extra, needed, tried)


def _extra(extra: str, needed: Sequence[Requirement], tried: dict[str, str]) -> Condition:
    facts = {one.name: installed(one.name) for one in needed}
    advice = pip(f"kgbench[{extra}]")
    missing = [name for name, version in facts.items() if version is None]
    if missing:
        words = f"not installed: {', '.join(missing)}"
        return Condition("extras", extra, State.ABSENT, words, advice, facts)
    for one in needed:
        if found := _requirement(one, "extras", advice):
            return Condition(
                "extras", extra, State.BROKEN, f"{one.name} {found.words}", advice, facts
            )
        if said := tried.get(one.name):
            words = f"{one.name} cannot be imported: {said}"
            again = pip("--force-reinstall", one.name)
            return Condition("extras", extra, State.BROKEN, words, again, facts)
    words = ", ".join(f"{name} {version}" for name, version in facts.items())
    return Condition("extras", extra, State.OK, words, None, facts)


def _requirement(needed: Requirement, part: str, advice: str) -> Condition | None:
    """Return what is wrong with one distribution; ``None`` if nothing is."""
    version = installed(needed.name)
    if version is None:
        return Condition(part, needed.name, State.BROKEN, "is missing", advice)
    if not needed.specifier.contains(version, prereleases=True):
        words = f"{version} is not what kgbench needs ({needed.specifier})"
        return Condition(part, needed.name, State.BROKEN, words, advice)
    return None


def pip(*words: str) -> str:
    """Return the command that installs, for the Python that runs."""
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def module(name: str) -> str:
    """Return the module to import of a distribution."""
    return MODULES.get(canonicalize_name(name), name.replace("-", "_"))


def installed(name: str) -> str | None:
    """Return the installed version of a distribution, or ``None``."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def _requirements() -> tuple[Requirement, ...]:
    return tuple(Requirement(text) for text in metadata.requires("kgbench") or ())


def _extras() -> list[str]:
    named = metadata.metadata("kgbench").get_all("Provides-Extra") or []
    return sorted(set(named) - _NOT_FOR_USERS)


def _of_extra(extra: str) -> list[Requirement]:
    return [
        one
        for one in _requirements()
        if one.marker is not None
        and one.marker.evaluate({"extra": extra})
        and not one.marker.evaluate({"extra": ""})
    ]


def _importing(names: Sequence[str]) -> dict[str, str]:
    """What importing each distribution says (``""``: it works), tried in a process of its own.

    One that ends the process (a library for another processor does) is not the end of the others.
    """
    modules = {module(name): name for name in names}
    found: dict[str, str] = {}
    todo = sorted(modules)
    while todo:
        done = _tried(todo)
        found |= {modules[module]: said for module, said in done.items()}
        todo = [module for module in todo if module not in done]
    return found


def _tried(modules: Sequence[str]) -> dict[str, str]:
    command = [sys.executable, "-c", _TRY, *modules]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, capture_output=True, text=True, check=False, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys(modules, f"importing takes more than {_LIMIT:.0f} s")
    found: dict[str, str | None] = {}
    for line in done.stdout.splitlines():
        if line.startswith("["):  # a package may print something of its own
            name, said = json.loads(line)
            found[name] = said
    ended = f"importing ended the process (exit status {done.returncode})"
    if not found:
        found[modules[0]] = None
    return {name: ended if said is None else said for name, said in found.items()}
