# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a module of another package, found on the path
"""A task class of another package: its judge follows the instruction in the answer."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pyoxigraph as ox

from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.model import Outcome, Verdict
from kgbench.tasks import texts

NAME = "Probe"
FOLDER = Path(__file__).parent / "probe_task"


def cases(task, suite, seed, count):
    """Return no cases; tests make their own."""
    return []


def prompt(case):
    """Return an empty prompt; no model is called."""
    return ""


def reference(case):
    """Return the instruction that does nothing."""
    return "echo"


def judge(case, answers, executor):
    """Follow the last answer: an instruction, a blank, an argument."""
    word, _, argument = answers[-1].partition(" ")
    infos = INSTRUCTIONS[word](case, argument, executor)
    return infos if isinstance(infos, Verdict) else Verdict({"obeyed": 1.0}, infos)


def echo(case, argument, executor):
    """Report the argument, the case and the process."""
    return {"argument": argument, "uid": case.uid, "pid": os.getpid(), "length": len(argument)}


def query(case, argument, executor):
    """Check and run a query as a judge does."""
    error = executor.check(argument, {})
    result = executor.select(argument, case.data["graph"], {})
    infos = {
        "syntax": error,
        "rows": len(result.rows),
        "error": result.error,
        "expired": result.expired,
        "refused": result.refused,
    }
    return Verdict({"obeyed": 1.0}, infos, Outcome.SCORED, "again", "empty-result")


def query_and_dawdle(case, argument, executor):
    """Sleep after a query."""
    executor.select(argument, case.data["graph"], {})
    time.sleep(3600)


def unguarded(case, argument, executor):
    """Run a query with the lexer switched off."""
    return {"error": OxigraphExecutor(refusal=lambda _: None).select(argument, "", {}).error}


def bare(case, argument, executor):
    """Run a query in the engine itself."""
    try:
        return {"error": None, "rows": len(list(ox.Store().query(argument)))}
    except OSError as error:
        return {"error": str(error)}


def parse(case, argument, executor):
    """Parse a document; the argument starts with the format."""
    rdf_format, _, text = argument.partition(" ")
    found = executor.parse(text, rdf_format)
    return {"error": found.error, "triples": found.triples and len(found.triples)}


def break_out(case, argument, executor):
    """Try to open a file, a socket, a pipe, standard streams and a process."""
    tried = {}
    for name, door in {
        "file": lambda: open("/etc/hostname"),  # noqa: SIM115, PTH123 - it must fail
        "socket": lambda: socket.create_connection(("127.0.0.1", int(argument)), 1),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "pipe": os.pipe,
        "process": lambda: os.popen("true"),
        "stdin": lambda: sys.stdin.read(1) and None,
    }.items():
        try:
            tried[name] = str(door())
        except OSError as error:
            tried[name] = error.strerror
    print("{" * 100_000)  # noqa: T201 - must not reach the pipe
    os.write(1, b"\x00\x00\x00\x02{}")
    os.write(2, b"x" * 1_000)
    return tried


def environment(case, argument, executor):
    """Return the environment."""
    return dict(os.environ)


def note(case, argument, executor):
    """Read a text of the task that this process has not yet read."""
    return {"note": texts.text(NAME, "note.txt")}


def hoard(case, argument, executor):
    """Allocate memory forever."""
    kept = []
    while True:
        kept.append(bytearray(1 << 24))


def spin(case, argument, executor):
    """Loop forever without releasing the interpreter."""
    while True:
        pass


def nap(case, argument, executor):
    """Sleep longer than any timeout."""
    time.sleep(3600)


def rest(case, argument, executor):
    """Signal by a folder that work has begun, and continue once the folder ``leave`` exists.

    Folders can be created and seen even if no file can be opened.
    """
    Path(argument, "begun", str(os.getpid())).mkdir(parents=True)
    while not Path(argument, "leave").exists():
        time.sleep(0.01)
    return {"pid": os.getpid()}


def signal_self(case, argument, executor):
    """End this process by a signal."""
    os.kill(os.getpid(), signal.Signals[argument])
    time.sleep(3600)


def leave(case, argument, executor):
    """Exit from this process with a status."""
    os._exit(int(argument))


def fail(case, argument, executor):
    """Raise an error."""
    raise RuntimeError(argument)


def burst(case, argument, executor):
    """Allocate more memory than exists."""
    return {"length": len(bytearray(1 << 62))}


def quit_python(case, argument, executor):
    """Raise SystemExit, which is no Exception."""
    raise SystemExit(argument)


def recurse(case, argument, executor):
    """Recurse forever."""
    return recurse(case, argument, executor)


def no_json(case, argument, executor):
    """Return infos that are not JSON."""
    return {"set": {1, 2}}


def no_number(case, argument, executor):
    """Return a score that is not a number."""
    return Verdict({"obeyed": "very"}, {})


INSTRUCTIONS = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(echo, query, query_and_dawdle, unguarded, bare, parse, break_out, environment, note),
        *(
            hoard,
            spin,
            nap,
            rest,
            signal_self,
            leave,
            fail,
            burst,
            quit_python,
            recurse,
            no_json,
            no_number,
        ),
    )
}
