# SPDX-License-Identifier: Apache-2.0
"""Tasks with tools in Inspect AI: native tool calls as in a run, and import of the logs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from kgbench.store import open_reader, open_store
from kgbench.tools import wording
from tests.support.commands import printed as command
from tests.support.runs import hold
from tests.support.tool_runs import (
    LABEL,
    NATIVE,
    OUTCOMES,
    held,
    loopbacks,
    plan_of,
    said,
    scores,
)
from tests.support.validation import assert_conforms

pytest.importorskip("inspect_ai", reason="the extra kgbench[inspect] is not installed")

#: Runs a task with tools with Inspect's mock model, which makes the scripted calls.
RUN = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage
from inspect_ai.model import get_model
from inspect_ai.tool import ToolCall

label, folder, rest = sys.argv[1:]
steps, seen = json.load(sys.stdin), []

def answer(input, tools, tool_choice, config):
    seen.append([[m.role, m.text, getattr(m, "tool_call_id", None)] for m in input])
    text, calls = steps[min(sum(m.role == "assistant" for m in input), len(steps) - 1)]
    made = [ToolCall(id=i, function=f, arguments=a, parse_error=e) for i, f, a, e in calls]
    message = ChatMessageAssistant(content=text, tool_calls=made or None)
    reason = "tool_calls" if made else "stop"
    output = ModelOutput(model="mockllm/model",
                         choices=[ChatCompletionChoice(message=message, stop_reason=reason)])
    output.usage = ModelUsage(input_tokens=9, output_tokens=4, total_tokens=13)
    seen[-1].append(sorted(tool.name for tool in tools))
    return output

(log,) = eval(
    f"kgbench/{label}", task_args={"iterations": 1}, log_dir=folder, log_format="json",
    display="none", model=get_model("mockllm/model", custom_outputs=answer),
    **json.loads(rest),
)
assert log.status == "success", log.error
(sample,) = log.samples
print(json.dumps({
    "scores": sample.scores["kgbench_scores"].value,
    "seen": seen,
    "errors": [m.error.type for m in sample.messages if getattr(m, "error", None)],
}))
"""


def asked(folder, steps, **rest):
    """Return the result of Inspect for a scripted model, and the path of its log."""
    made = []
    for step in steps:
        text, calls = wording.split_calls(step)
        made.append((text, [(c.id, c.name, json.loads(c.arguments), c.malformed) for c in calls]))
    done = subprocess.run(
        [sys.executable, "-c", RUN, LABEL, str(folder / "logs"), json.dumps(rest)],
        input=json.dumps(made),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = (folder / "logs").glob("*.json")
    return json.loads(done.stdout.splitlines()[-1]), path


def without_counts(dialogue):
    """Return the turns of a dialogue without the remaining token counts."""
    return [(re.sub(r"\d+ of \d+ tokens", "", text), *rest) for text, *rest in said(dialogue)]


def test_a_task_with_tools_is_the_same_in_inspect(tmp_path, monkeypatch):
    """Calls, results and scores equal those of a run; judging the imported log changes nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with loopbacks() as start, open_store("memory:") as store:
        assert hold(store, plan_of(f"openai:loopback@{start(NATIVE).url}")).finished
        (expected,) = held(store)
        ours = {name: value for name, (value,) in scores(store).items()}
    found, path = asked(tmp_path, NATIVE)
    store = tmp_path / "results"
    assert "1 dialogue" in command("import", "inspect", path, "--store", store)
    with open_reader(str(store)) as reader:
        (dialogue,) = held(reader)
        assert_conforms(reader)

    assert without_counts(dialogue) == without_counts(expected)
    assert [u.result.outcome for t in dialogue.turns for u in t.uses] == OUTCOMES
    assert dialogue.tool_protocol == "native"
    assert found["scores"] == ours
    again = json.loads(command("reevaluate", "--store", store, "--json"))
    assert (again["dialogues_compared"], again["dialogues_differing"]) == (1, [])
    audited = json.loads(command("reevaluate", "--audit-tools", "--store", store, "--json"))
    assert audited["agree"] == audited["calls"] == 3


def test_inspect_tells_the_model_of_results(tmp_path):
    """Tools are offered; each call has its result by id, and the last result the budget left."""
    found, _ = asked(tmp_path, NATIVE)
    *_, last = found["seen"]
    roles = [(role, call) for role, _, call in last[:-1]]

    assert last[-1] == ["answer", "cancel", "describe", "query", "schema", "search"]
    assert roles == [
        ("user", None),
        ("assistant", None),
        ("tool", "a"),
        ("tool", "b"),
        ("assistant", None),
        ("tool", "c"),
        ("tool", "d"),
        ("tool", "e"),
    ]
    assert "Left: " not in last[2][1]
    assert "Left: 13 of 15 tool calls" in last[3][1]
    assert found["errors"] == ["parsing", "parsing"]


def test_a_model_without_end_is_ended_by_the_budget(tmp_path):
    """A model that never answers is told when its calls are used up, then refused and scored."""
    found, path = asked(tmp_path, NATIVE[:1])
    store = tmp_path / "results"
    command("import", "inspect", path, "--store", store)
    with open_reader(str(store)) as reader:
        (dialogue,) = held(reader)

    assert len(dialogue.turns) == 9  # two of fifteen calls a turn, and one more answer
    assert dialogue.turns[-1].prompt.endswith("No tool call is left: answer or give up now.")
    assert found["scores"]["outOfBudget"] == 1.0
    assert found["scores"]["f1"] == 0.0


def test_inspects_own_limit_ends_a_dialogue(tmp_path):
    """A sample that Inspect's message limit ends is judged and imported like any other."""
    found, path = asked(tmp_path, NATIVE, message_limit=4)
    store = tmp_path / "results"
    command("import", "inspect", path, "--store", store)
    again = json.loads(command("reevaluate", "--store", store, "--json"))

    assert found["scores"]["f1"] == 0.0
    assert (again["dialogues_compared"], again["dialogues_differing"]) == (1, [])


def test_a_call_that_cannot_be_parsed_is_an_error(tmp_path):
    """A call that Inspect cannot parse is returned to the model as an error and counts."""
    broken = wording.with_calls("", [wording.ToolCall("search", "{}", "z", malformed="no JSON")])
    found, _ = asked(tmp_path, (broken, NATIVE[2]))

    assert found["scores"]["f1"] == 1.0
    assert found["scores"]["toolErrors"] == 1.0
    assert found["errors"] == ["parsing"]


def test_limits_of_dollars_are_refused():
    """A task that limits dollars is refused, because Inspect knows no prices."""
    change = "bridge.budget.limits_dollars = lambda parameters: True"
    asked = f"from kgbench.plugins.inspect import bridge; {change}; bridge.task({LABEL!r})"
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False
    )

    assert "limits the dollars of a dialogue, which cannot be counted in Inspect" in done.stderr
