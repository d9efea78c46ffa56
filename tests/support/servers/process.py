# SPDX-License-Identifier: Apache-2.0
"""Runs a loopback server as a separate process, from the command line."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from tests.support.servers import scripts
from tests.support.servers.loopback import Answerer, LoopbackServer, Speech, echo, fixed, looked_up
from tests.support.servers.scripts import Script


def main(speech: Speech) -> None:
    """Serve until terminated; the first line of output is JSON with ``url`` and ``root``."""
    arguments = _parser().parse_args()
    server = LoopbackServer(
        speech, script=_script(arguments), answer=_answerer(arguments), port=arguments.port
    )
    with server:
        sys.stdout.write(json.dumps({"url": server.url, "root": server.root}) + "\n")
        sys.stdout.flush()
        if arguments.with_parent:
            sys.stdin.read()
        else:
            threading.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="A loopback server that speaks a provider's protocol."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--answer", default="echo", help="echo, or the text of every answer")
    parser.add_argument(
        "--answers", type=Path, help="JSON file: answers by prompt; else as --answer"
    )
    parser.add_argument("--behave", nargs="*", default=[], choices=scripts.KINDS, help="in turn")
    parser.add_argument("--then", default=scripts.ANSWER, choices=scripts.KINDS, help="afterwards")
    parser.add_argument("--chaos", type=float, metavar="RATE", help="fail at random instead")
    parser.add_argument("--seed", type=int, default=0, help="of --chaos")
    parser.add_argument("--parallel", type=int, help="429 above so many requests at once")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each response")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    return parser


def _script(arguments: argparse.Namespace) -> Script:
    if arguments.parallel is not None:
        return scripts.limited(arguments.parallel, arguments.delay)
    if arguments.chaos is not None:
        return scripts.slowed(scripts.chaos(arguments.chaos, arguments.seed), arguments.delay)
    return scripts.slowed(scripts.sequence(*arguments.behave, then=arguments.then), arguments.delay)


def _answerer(arguments: argparse.Namespace) -> Answerer:
    if arguments.answers is not None:
        return looked_up(json.loads(arguments.answers.read_text(encoding="utf-8")))
    return echo if arguments.answer == "echo" else fixed(arguments.answer)
