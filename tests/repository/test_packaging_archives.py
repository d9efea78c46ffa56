# SPDX-License-Identifier: Apache-2.0
"""The wheel and the source distribution contain the files that git tracks, and no others."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from kgbench.resources import FOLDERS

IGNORED = "store/results/secret-results.nq"
UNTRACKED = ("tasks/secret-draft.ttl", "kgbench/secret_draft.py", "secret-notes.txt")
PREFIX = "kgbench-"


class Built(NamedTuple):
    """The archives built from a copy of the checkout, the copy, and the files git tracks in it."""

    checkout: Path
    tracked: set[str]
    wheel: Path
    sdist: Path


def run(*command, cwd):
    """Run a command that must succeed and return its standard output."""
    environment = dict(
        os.environ,
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_SYSTEM=os.devnull,
        SOURCE_DATE_EPOCH="1700000000",
    )
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def hatch(*targets, cwd, out):
    """Build the targets without build isolation, and so without a network."""
    chosen = [word for target in targets for word in ("-t", target)]
    run(sys.executable, "-m", "hatchling", "build", *chosen, "-d", str(out), cwd=cwd)


def plant(folder):
    """Add files that must not be packaged."""
    for name in (IGNORED, *UNTRACKED):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("This must stay at home.\n", encoding="utf-8")


def wheel_content(path):
    """Return the bytes of every file of a wheel by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sdist_names(path):
    """Return the names in a source distribution, relative to its top folder."""
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers()}


@pytest.fixture(scope="module")
def built(repository, tmp_path_factory):
    """Return both archives of a copy of the checkout with added untracked files."""
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    listed = run("git", "ls-files", "-z", cwd=repository).split("\0")
    tracked = {name for name in listed if name and (repository / name).is_file()}
    copy = tmp_path_factory.mktemp("copy")
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / name, copy / name)
    run("git", "init", "-q", cwd=copy)
    run("git", "add", "--all", "--force", cwd=copy)
    plant(copy)
    assert run("git", "check-ignore", IGNORED, cwd=copy).split() == [IGNORED]
    out = tmp_path_factory.mktemp("archives")
    hatch("sdist", "wheel", cwd=copy, out=out)
    return Built(copy, tracked, next(out.glob("*.whl")), next(out.glob("*.tar.gz")))


def test_archives_hold_exactly_the_tracked_files(built):
    """The sdist holds the tracked files and PKG-INFO, the wheel code and declared files of them.

    So the planted files, of which git ignores one, travel in neither.
    """
    assert sdist_names(built.sdist) == built.tracked | {"PKG-INFO"}
    names = {name for name in wheel_content(built.wheel) if ".dist-info/" not in name}
    code = {name for name in built.tracked if name.startswith("kgbench/")}
    declared = {
        f"kgbench/declared/{name}"
        for name in built.tracked
        if name.partition("/")[0] in FOLDERS and "/test_" not in name
    }
    assert names == code | declared


def test_wheel_from_sdist_is_the_same(built, tmp_path):
    """A wheel built from the sdist, without git, has the same files with the same bytes."""
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.glob(f"{PREFIX}*"))
    ignored = unpacked / IGNORED
    ignored.parent.mkdir(parents=True)
    ignored.write_text("This must stay at home.\n", encoding="utf-8")
    hatch("wheel", cwd=unpacked, out=tmp_path)
    again = wheel_content(next(tmp_path.glob("*.whl")))

    assert again == wheel_content(built.wheel)


def test_building_again_gives_the_same_bytes(built, tmp_path):
    """Another folder, other file times and narrower permissions change no byte of the archives."""
    again = tmp_path / "somewhere" / "else"
    shutil.copytree(built.checkout, again)
    for name in built.tracked:
        path = again / name
        os.utime(path, (1, 1_000_000_000))
        path.chmod(path.stat().st_mode & 0o700)
    hatch("sdist", "wheel", cwd=again, out=tmp_path)

    for archive in (built.wheel, built.sdist):
        assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()


def test_installed_wheel_finds_its_declared_files(built, tmp_path):
    """An installed kgbench reads its own declared files and families, in any current folder."""
    site = tmp_path / "site"
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(site)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "store").mkdir(parents=True)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kgbench import resources\n"
        "from kgbench.tasks import catalogue\n"
        "assert resources.checkout() is None\n"
        "print(*(resources.folder(name) for name in resources.FOLDERS), sep='\\n')\n"
        "print(catalogue.module('DifferenceWorld').FOLDER)"
    )
    found = run(sys.executable, "-I", "-c", code, str(site), cwd=elsewhere).splitlines()

    declared = site / "kgbench" / "declared"
    assert [Path(name) for name in found] == [
        *(declared / name for name in FOLDERS),
        declared / "tasks" / "DifferenceWorld",
    ]


def test_the_wheel_serves_authors(built, tmp_path):
    """From the wheel, a new package passes its check and a new configuration is valid."""
    site = tmp_path / "site"
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(site)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kgbench.cli import main; main()"

    def kgbench(*words):
        return run(sys.executable, "-I", "-c", code, str(site), *words, cwd=tmp_path)

    kgbench("tasks", "new", "TeaGarden", "--kind", "dialogue", "--answers", "graph")
    assert "no findings in 1 task class" in kgbench("tasks", "check", "tea-garden")
    kgbench("init", "first")
    assert "accepted" in kgbench("validate", "first/kgbench.yaml")


def test_checkout_without_git_is_refused_with_words(built, tmp_path):
    """Building a checkout without a working git is refused with the reason."""
    broken = tmp_path / "broken"
    shutil.copytree(built.checkout, broken, ignore=shutil.ignore_patterns(".git"))
    (broken / ".git").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")],
        cwd=broken,
        env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "git cannot list the tracked files of" in done.stderr
