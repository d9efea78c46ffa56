# SPDX-License-Identifier: Apache-2.0
"""The attack by SIGKILLs and full disks, in a short form; the full forms are commands."""

from __future__ import annotations

import importlib


def test_nothing_logged_is_asked_again(tmp_path, repository, monkeypatch):
    """After 12 SIGKILLs and 3 full disks: exactly the plan, right counts, no traceback, no loss."""
    monkeypatch.syspath_prepend(str(repository))
    kills = importlib.import_module("bench.attack_kills")
    tally = kills.Attack(tmp_path, 240, seed=7, failing=0.25).carry_out(12, 3)

    assert (tally.kills, tally.full_disks) == (12, 3)
    assert tally.faults == []
    assert tally.bad == 0, kills.table(tally)
    assert tally.stored == tally.dialogues
    assert max(tally.in_flight.values(), default=0) <= kills.CONCURRENCY
    assert tally.disk_full <= 3 * kills.CONCURRENCY


def test_every_attack_can_be_loaded(repository):
    """The modules of ``python -m tests.attacks`` find what they import."""
    for path in (repository / "tests" / "attacks").glob("[a-z]*.py"):
        assert importlib.import_module(f"tests.attacks.{path.stem}").__doc__
