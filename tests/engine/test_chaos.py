# SPDX-License-Identifier: Apache-2.0
"""Providers that fail 30 % of calls, and a process that is killed again and again.

Each session runs in a process forked from one that has imported everything, so that a kill is
cheap. The servers' own ledgers record what is sent, acknowledged and charged.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from kgbench.record import accounts, reading
from kgbench.record.accounts import recorded_price, total
from kgbench.store import open_reader, open_store
from tests.support.prices import price_table
from tests.support.runs import Stop, dialogues_of, hold, planned
from tests.support.servers.loopback import running
from tests.support.validation import assert_conforms

EACH = 500
KILLS = 30
INTERRUPTS = 5
FURTHER = 8  # dialogues that a session may complete before the signal reaches it
PATIENCE = 300  # seconds for the next message of a session, and for its end
LABELS = ("RdfFriendCount-turtle-1", "RdfFriendCount-nt-1")
MODELS = {
    "chat": ("openai_server", "openai:chat@{url}"),
    "responses": ("openai_server", "openai:responses@{url}?api=responses"),
    "messages": ("anthropic_server", "anthropic:messages@{url}"),
    "content": ("google_server", "google:content@{url}"),
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
IMPORTED = ("tests.engine.test_chaos", "openai", "anthropic", "google.genai")
REQUESTS = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
SELECT ?model ?id WHERE {
  GRAPH ?g { ?answer a kgb:Answer ; prov:wasGeneratedBy ?call .
    ?call kgb:requestId ?id ; prov:wasAssociatedWith ?of }
  GRAPH ?c { ?of a kgb:Model ; skos:notation ?model }
}
"""


def session(folder, plan, said, far):
    """Run one session; send the number of complete dialogues after each of them.

    On first reaching ``far`` it waits for a message to go on.
    """
    os.environ.update(dict.fromkeys(KEYS, "key-of-loopback"))
    stop = Stop()
    waits = far is not None

    def watch(seen):
        nonlocal waits
        said.send(seen.complete)
        if waits and seen.complete == far:  # which stays the same if a dialogue fails
            waits = False
            said.recv()

    signal.signal(signal.SIGINT, lambda *_: stop.soon())
    with open_store(str(Path(folder) / "store")) as store:
        done = hold(store, plan, stop=stop, watch=watch)
    said.send("finished" if done.finished else "ended")


class Sessions:
    """Starts sessions one after another and sends signals to them."""

    def __init__(self, folder, plan):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(IMPORTED))
        self._given = (str(folder), plan)

    def until(self, dialogues, number):
        """Run a session, send ``number`` to it after so many dialogues; return its last message."""
        mine, theirs = self._context.Pipe()
        far = None if number is None else dialogues + FURTHER
        process = self._context.Process(target=session, args=(*self._given, theirs, far))
        process.start()
        theirs.close()
        last, waits = None, number is not None
        with contextlib.suppress(EOFError, ConnectionError):
            while mine.poll(PATIENCE):
                last = mine.recv()
                if waits and last == dialogues:
                    waits = False
                    os.kill(process.pid, number)
                    mine.send("go on")
        process.join(PATIENCE)
        assert process.exitcode in (0, -signal.SIGKILL)
        return last


def test_store_holds_the_plan_and_what_was_paid_for(tmp_path):
    """After 30 SIGKILLs and 5 SIGINTs: exactly the plan, right totals, nothing asked twice."""
    chance = random.Random(5)
    (tmp_path / "prices.ttl").write_text(price_table(*MODELS))
    signals = [signal.SIGKILL] * KILLS + [signal.SIGINT] * INTERRUPTS
    chance.shuffle(signals)
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(running(module, "--chaos", "0.3", "--seed", str(seed)))
            for seed, (name, (module, _)) in enumerate(MODELS.items())
        }
        specs = [spec.format(url=servers[name].url) for name, (_, spec) in MODELS.items()]
        plan = planned(LABELS, *specs, iterations=EACH // len(LABELS), concurrency=8)
        plan = replace(plan, call_timeout=6.0, max_retries=6, prices=tmp_path / "prices.ttl")
        sessions = Sessions(tmp_path, plan)
        for number in signals:
            assert sessions.until(chance.randint(1, 30), number) != "finished"
        for _ in range(20):
            if sessions.until(0, None) == "finished":
                break
        ledgers = {name: server.ledger() for name, server in servers.items()}

    with open_reader(str(tmp_path / "store")) as store:
        (run,) = reading.runs(store)
        held = dialogues_of(store, run)
        usage = accounts.usage(store, run.graph)
        prices = accounts.prices(store, run.graph)
        stored = {(r["model"].value, r["id"].value) for r in store.query(REQUESTS)}

    assert len(held) == len({(d.model, d.task, d.iteration) for d in held}) == len(MODELS) * EACH
    assert all(d.ended is not None and len(d.answers) == 1 for d in held)
    assert len(stored) == len(held)
    entries = {(name, e.request_id): e for name, ledger in ledgers.items() for e in ledger}
    paid = [entries[key] for key in stored]
    assert all(entry.acknowledged is not None for entry in paid)
    read, written = (sum(e.usage[kind] for e in paid) for kind in ("input", "output"))
    assert sum(u.input for u in usage.values()) == read
    assert sum(u.output for u in usage.values()) == written
    costs = [total(one, recorded_price(prices[iri])).cost for iri, one in usage.items()]
    assert sum(costs) == (Decimal(3) * read + Decimal(7) * written) / 1_000_000
    asked_after = Counter(
        key[0]
        for key in stored
        for entry in ledgers[key[0]]
        if entry.digest == entries[key].digest and entry.number > entries[key].number
    )
    assert not asked_after


def test_a_small_storm_conforms(tmp_path, monkeypatch):
    """The graphs of a run with many failures conform to the shapes."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-loopback")
    with running("openai_server", "--chaos", "0.7") as server, open_store("memory:") as store:
        spec = f"openai:m@{server.url}"
        hold(store, planned(LABELS[0], spec, iterations=20, max_retries=1, call_timeout=2.0))
        assert_conforms(store)
