# SPDX-License-Identifier: Apache-2.0
"""Answers of judges that their provider cut off or filtered are no verdicts."""

from __future__ import annotations

from kgbench.analysis.verdicts import verdicts
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.judge_runs import ask, judged_run
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.replies import Prepared

EVALUATED = """
    SELECT ?outcome ?decided {
      GRAPH ?pass {
        ?evaluation <https://w3id.org/kgbench/ns#outcome> ?outcome ;
          <https://w3id.org/kgbench/metric/JudgeVerdict/3/decided> ?decided .
      }
    }"""


def replied(reason: str) -> dict[str, object]:
    """Return a response with a verdict and a finish reason."""
    message = {"role": "assistant", "content": "It is wrong.\nVERDICT: wrong"}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    body = {"id": "x", "object": "chat.completion", "model": "m"}
    return {**body, "choices": [choice], "usage": usage}


def test_unfinished_answers_are_no_verdicts(monkeypatch):
    """Of four answers with a verdict, the truncated and the filtered ones decide nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    reasons = ["stop", "length", "content_filter", "stop"]
    with (
        LoopbackServer(Prepared(*map(replied, reasons))) as server,
        open_store("memory:") as store,
    ):
        of = judged_run(store, "baseline:oracle", labels=["RdfFriendCount-turtle-1"])
        done = ask(store, of, "correctness", f"openai:judge@{server.url}")
        assert done.finished, done.failures
        decided = [one for one in verdicts(store, select(store)) if "judge" in one.judge]
        evaluated = [
            (row["outcome"].value.rpartition("/")[2], float(row["decided"].value))
            for row in store.query(EVALUATED)
        ]
    assert len(decided) == 2
    expected = [("scored", 1.0), ("scored", 1.0), ("unparsable", 0.0), ("unparsable", 0.0)]
    assert sorted(evaluated) == expected
