# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a module of another package, found on the path
"""A task class of another package: its judge does what the answer says, good or evil."""

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
    """There are none; tests make their own."""
    return []


def prompt(case):
    """Nobody is asked."""
    return ""


def reference(case):
    """The instruction that does nothing."""
    return "echo"


def judge(case, answers, executor):
    """Follow the last answer: an instruction, a blank, an argument."""
    word, _, argument = answers[-1].partition(" ")
    infos = INSTRUCTIONS[word](case, argument, executor)
    return infos if isinstance(infos, Verdict) else Verdict({"obeyed": 1.0}, infos)


def echo(case, argument, executor):
    """Say what arrived, and in which process."""
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
    """Be slow after a query, not in it."""
    executor.select(argument, case.data["graph"], {})
    time.sleep(3600)


def unguarded(case, argument, executor):
    """Run a query with the lexer switched off."""
    return {"error": OxigraphExecutor(refusal=lambda _: None).select(argument, "", {}).error}


def bare(case, argument, executor):
    """Hand a query to the engine itself."""
    try:
        return {"error": None, "rows": len(list(ox.Store().query(argument)))}
    except OSError as error:
        return {"error": str(error)}


def parse(case, argument, executor):
    """Parse a document; the format comes first."""
    rdf_format, _, text = argument.partition(" ")
    found = executor.parse(text, rdf_format)
    return {"error": found.error, "triples": found.triples and len(found.triples)}


def break_out(case, argument, executor):
    """Try every door: a file, a socket, a pipe, standard streams, a process."""
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
    """Tell the environment."""
    return dict(os.environ)


def note(case, argument, executor):
    """Read a text of the task, which nobody has read in this process before."""
    return {"note": texts.text(NAME, "note.txt")}


def hoard(case, argument, executor):
    """Take memory without end."""
    kept = []
    while True:
        kept.append(bytearray(1 << 24))


def spin(case, argument, executor):
    """Never end, and hold the interpreter."""
    while True:
        pass


def nap(case, argument, executor):
    """Sleep longer than anybody waits."""
    time.sleep(3600)


def rest(case, argument, executor):
    """Show in a folder that work has begun, and go on when somebody says so there.

    Folders can be made and seen though no file can be opened.
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
    """End this process politely."""
    os._exit(int(argument))


def fail(case, argument, executor):
    """Be defective."""
    raise RuntimeError(argument)


def burst(case, argument, executor):
    """Ask for more memory than there is anywhere."""
    return {"length": len(bytearray(1 << 62))}


def quit_python(case, argument, executor):
    """Raise what is no ordinary exception."""
    raise SystemExit(argument)


def recurse(case, argument, executor):
    """Call oneself without end."""
    return recurse(case, argument, executor)


def no_json(case, argument, executor):
    """Give infos that are not JSON."""
    return {"set": {1, 2}}


def no_number(case, argument, executor):
    """Give a score that is no number."""
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
