# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools in other formats: Every Eval Ever, and round trips by Inspect AI logs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from kgbench.errors import ImportRefused
from kgbench.store import open_reader, open_store
from tests.support.commands import printed as command
from tests.support.runs import hold
from tests.support.tool_runs import NATIVE, TEXT, held, loopbacks, plan_of, said
from tests.support.validation import assert_conforms

READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
assert log.status == "success"
(sample,) = log.samples
print(json.dumps([[m.role, [c.function for c in getattr(m, "tool_calls", None) or []],
                   m.error.type if getattr(m, "error", None) else None] for m in sample.messages]))
"""


@pytest.fixture(scope="module", params=["native", "text"])
def recorded(request, tmp_path_factory):
    """Return the tool protocol and a store with one dialogue in it."""
    place = tmp_path_factory.mktemp(request.param) / "store"
    steps = NATIVE if request.param == "native" else TEXT
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", "sk-loopback")
    with loopbacks() as start, open_store(str(place)) as store:
        spec = f"openai:loopback@{start(steps).url}?toolProtocol={request.param}"
        assert hold(store, plan_of(spec)).finished
    patch.undo()
    return request.param, place


def test_every_eval_ever(recorded, tmp_path):
    """Records state the tools of a task and its limits."""
    _, place = recorded
    command("export", "eee", "--store", place, "-o", tmp_path / "eee")
    (record,) = (json.loads(p.read_text()) for p in (tmp_path / "eee").rglob("*.json"))
    arguments = record["evaluation_results"][0]["generation_config"]["generation_args"]
    config = arguments["agentic_eval_config"]

    names = [tool["name"] for tool in config["available_tools"]]
    assert names == ["search", "describe", "schema", "query", "answer", "cancel"]
    assert config["additional_details"] == {"tool_call_limit": "15"}
    assert arguments["eval_limits"] == {"time_limit": 600, "token_limit": 100_000}


def test_logs_of_inspect_come_back(recorded, tmp_path):
    """Exported and imported again, a dialogue has the same texts, calls and scores."""
    protocol, place = recorded
    logs, again = tmp_path / "logs", tmp_path / "again"
    command("export", "inspect", "--store", place, "-o", logs)
    (path,) = logs.iterdir()
    assert "1 dialogue" in command("import", "inspect", path, "--store", again)
    with open_reader(str(place)) as first, open_reader(str(again)) as second:
        (before,), (after,) = held(first), held(second)
        assert_conforms(second)

    assert said(after) == said(before)
    assert after.tool_protocol == before.tool_protocol == protocol
    report = json.loads(command("reevaluate", "--store", again, "--json"))
    assert (report["dialogues_compared"], report["dialogues_differing"]) == (1, [])
    audited = json.loads(command("reevaluate", "--audit-tools", "--store", again, "--json"))
    assert audited["agree"] == audited["calls"] > 0


def test_inspect_reads_the_logs(recorded, tmp_path):
    """Inspect reads a log, with calls and results as its own messages."""
    pytest.importorskip("inspect_ai", reason="the extra kgbench[inspect] is not installed")
    protocol, place = recorded
    command("export", "inspect", "--store", place, "-o", tmp_path / "logs")
    (path,) = (tmp_path / "logs").iterdir()
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    messages = json.loads(done.stdout)
    assert messages[1] == [
        "assistant",
        ["search", *(["query"] if protocol == "native" else [])],
        None,
    ]
    errors = [error for role, _, error in messages if role == "tool"]
    assert errors == (
        [None, None, "parsing", "parsing", None, None]
        if protocol == "native"
        else [None, "parsing", "parsing", None]
    )


def test_a_damaged_call_is_refused(recorded, tmp_path):
    """A damaged tool call in a log is refused with a message."""
    _, place = recorded
    command("export", "inspect", "--store", place, "-o", tmp_path / "logs")
    (path,) = (tmp_path / "logs").iterdir()
    for field, value, words in (
        ("outcome", "splendid", "has an unknown outcome or fault"),
        ("fault", "bad", "has an unknown outcome or fault"),
        ("tool", None, "tool is missing"),
        ("ended", "2001-01-01T00:00:00Z", "ends before it begins"),
    ):
        log = json.loads(path.read_text())
        log["samples"][0]["metadata"]["kgbench_turns"][0]["tools"][0][field] = value
        (tmp_path / "damaged.json").write_text(json.dumps(log))
        with pytest.raises(ImportRefused, match=words):
            command("import", "inspect", tmp_path / "damaged.json", "--store", "memory:")


def test_the_server_of_a_call_comes_back(tmp_path, monkeypatch):
    """A call of an MCP server's tool keeps its server in a round trip.

    Otherwise an audit would run the call with the task's tools and report its result as forged.
    """
    pytest.importorskip("mcp", reason="the extra kgbench[mcp] is not installed")
    monkeypatch.chdir(Path(__file__).resolve().parents[3])
    command_line = shlex.join([sys.executable, "-m", "tests.support.servers.mcp_server", "good"])
    spec = f"baseline:searcher?mcp={quote(f'{command_line} {tmp_path}/starts', safe='')}"
    place, logs, again = (tmp_path / name for name in ("store", "logs", "again"))
    with open_store(str(place)) as store:
        assert hold(store, plan_of(spec), start_tool_servers=True).finished
    command("export", "inspect", "--store", place, "-o", logs)
    (path,) = logs.iterdir()
    command("import", "inspect", path, "--store", again)
    with open_reader(str(place)) as first, open_reader(str(again)) as second:
        (before,), (after,) = held(first), held(second)
        assert_conforms(second)
    servers = [[use.server for turn in d.turns for use in turn.uses] for d in (before, after)]
    audited = json.loads(command("reevaluate", "--audit-tools", "--store", again, "--json"))

    assert any(servers[0])
    assert servers[0] == servers[1]
    assert audited["differ"] == []
    log = json.loads(path.read_text())
    uses = [u for t in log["samples"][0]["metadata"]["kgbench_turns"] for u in t.get("tools", ())]
    for value, words in (("x", "is not a tool server"), ({"name": "a"}, "is not a tool server")):
        next(use for use in uses if use.get("server"))["server"] = value
        (tmp_path / "damaged.json").write_text(json.dumps(log))
        with pytest.raises(ImportRefused, match=words):
            command("import", "inspect", tmp_path / "damaged.json", "--store", "memory:")
