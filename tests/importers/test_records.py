# SPDX-License-Identifier: Apache-2.0
"""Validation of the records of a result file."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgbench.errors import ImportRefused
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.records import read_record, round_number
from kgbench.store.iris import Iris
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v2, record_v3

TIME = "2024-12-19T06:29:39"


def changed(record: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of ``record`` with the field ``path`` (dotted) replaced; ``...`` removes it."""
    found = copy.deepcopy(record)
    *parents, last = path.split(".")
    place = found
    for name in parents:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return found


@pytest.mark.parametrize(
    ("record", "generation"), [(record_v1(), 1), (record_v2(), 2), (record_v3(), 3)]
)
def test_generation_is_told_from_the_fields(record: dict[str, Any], generation: int) -> None:
    """The fields of a record tell which of the three published formats it has."""
    assert read_record(record, "f.json", 0).generation == generation


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("interactions", ..., "interactions is missing"),
        ("interactions", [], "interactions is not a list of prompts and responses"),
        ("interactions", "hello", "interactions is not a list"),
        ("interactions", [["prompt", TIME, "a"]], "interactions ends with a prompt"),
        ("interactions", [["response", TIME, "a"]], r"interactions\[0\] has the role 'response'"),
        ("interactions", [["prompt", TIME, "a"]] * 2, r"interactions\[1\] has the role 'prompt'"),
        ("interactions", [["prompt", TIME]], r"interactions\[0\] is not \[role, time, text\]"),
        ("interactions", [["prompt", TIME, None]], r"interactions\[0\] has no text"),
        ("interactions", [["prompt", TIME, 3]], r"interactions\[0\] has no text"),
        (
            "interactions",
            [["prompt", "noon", "a"]],
            r"interactions\[0\] is not an ISO 8601 time",
        ),
        ("interactions", [["prompt", None, "a"]], r"interactions\[0\] is missing"),
        (
            "interactions",
            [["prompt", TIME, "a"], ["response", "2024-12-19T06:29:38", "b"]],
            r"interactions\[1\] is earlier than interactions\[0\]: .* set back .* with their zone",
        ),
        ("taskInfo", ..., "taskInfo is missing"),
        ("taskInfo", "RdfFriendCount", "taskInfo is not an object"),
        ("taskInfo.taskId", ..., r"taskInfo\.taskId is missing"),
        ("taskInfo.taskId", "", r"taskInfo\.taskId is empty"),
        ("taskInfo.version", 4.4, r"taskInfo\.version is not a string"),
        ("taskInfo.version", "1> <x", r"taskInfo\.version has invalid characters: '1> <x'"),
        ("taskInfo.taskId", "http://x/", r"taskInfo\.taskId has invalid characters"),
        ("taskInfo.gitCommit", "\ud800 ", r"taskInfo\.gitCommit has a lone surrogate: .\\ud800."),
        ("taskInfo.gitCommit", None, r"taskInfo\.gitCommit is missing"),
        ("taskInfo.taskLabel", " ", r"taskInfo\.taskLabel is empty"),
        ("taskInfo.taskParameter", [1], r"taskInfo\.taskParameter is not an object"),
        ("taskData", "x", "taskData is not an object"),
        ("info", 3, "info is not an object"),
        ("modelId", ..., "modelId is missing"),
        ("modelId", ["a"], "modelId is not a string"),
        ("startTime", ..., "startTime is missing"),
        ("startTime", 1734589779, "startTime is not an ISO 8601 time"),
        ("startTime", "2024-02-30T00:00:00", "startTime is not an ISO 8601 time"),
        ("duration", "a while", "duration is not a time span"),
        ("duration", "99999999999 days, 0:00:00", "duration is too long"),
        ("scores", ..., "scores is missing"),
        ("scores", [1], "scores is not an object"),
        ("scores", {"f1": "good"}, r"scores\.f1 is not a number: 'good'"),
        ("scores", {"f1": None}, r"scores\.f1 is not a number"),
        ("scores", {"f1": True}, r"scores\.f1 is not a number"),
        ("scores", {"f1": 10**400}, r"scores\.f1 is too large"),
        ("scores", {"f1": float("inf")}, r"scores\.f1 is too large"),
        ("scores", {"f1": -1e200}, r"scores\.f1 is too large"),
        ("scores", {"0": {"f1": 1}, "f1": 1}, r"scores\.f1 is not an object although others are"),
        ("scores", {"0": {"f1": []}}, r"scores\.0\.f1 is not a number"),
        ("scores", {"3": {"f1": 1}}, r"scores\.3 is a round, but there are only 1"),
        ("scores", {"\ud800\n": "x"}, r"scores\.\\ud800\\n is not a number"),
        ("scores", {"my f1": 1}, r"scores\.my f1 has characters not allowed in scores"),
        ("scores", {"the 1st": {"f1": 1}}, r"scores\.the 1st is neither a round nor a valid name"),
        ("modelId", "a\ud800", r"modelId has a lone surrogate: '\\ud800'"),
    ],
)
def test_broken_record_is_refused(path: str, value: Any, message: str) -> None:
    """A record with a missing or wrong field is refused with file, record and field."""
    records = [record_v3(), changed(record_v3(), path, value)]
    with pytest.raises(ImportRefused, match=message) as caught:
        [read_record(raw, "f.json", k) for k, raw in enumerate(records)]
    assert str(caught.value).startswith("f.json: record 1 (from 0): ")
    str(caught.value).encode("utf-8")


def test_published_scores_may_be_anything() -> None:
    """A score outside the range of its formula is read as published."""
    assert read_record(record_v3(scores={"f1": -3}), "f.json", 0).flat == {"f1": -3}


LATE, ZONED = "2025-01-01T00:00:00", "2024-12-19T06:29:39+00:00"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((LATE, TIME, TIME), r"interactions\[1\] is earlier than startTime"),
        (
            (ZONED, TIME, TIME),
            r"interactions\[1\] and startTime: only one of them names a time zone",
        ),
        ((TIME, ZONED, TIME), r"interactions\[1\] and interactions\[0\]: only one of them names"),
    ],
)
def test_times_follow_each_other(times: tuple[str, str, str], message: str) -> None:
    """A record whose times are out of order or cannot be compared is refused."""
    started, asked, answered = times
    record = changed(changed(record_v3(), "startTime", started), "duration", None)
    record["interactions"] = [["prompt", asked, "a"], ["response", answered, "b"]]
    with pytest.raises(ImportRefused, match=message):
        read_record(record, "f.json", 0)


def test_times_with_zones_cure_a_clock_that_was_set_back() -> None:
    """A dialogue across the end of summer time is read once its times name their zones."""
    times = ["2024-10-27T02:59:58", "2024-10-27T02:59:59", "2024-10-27T02:00:03"]
    read = []
    for summer, winter in (("", ""), ("+02:00", "+01:00")):
        started, asked, answered = (
            time + zone for time, zone in zip(times, (summer, summer, winter), strict=True)
        )
        record = changed(record_v3(), "startTime", started)
        record["interactions"] = [["prompt", asked, "a"], ["response", answered, "b"]]
        try:
            read.append(read_record(record, "f.json", 0))
        except ImportRefused as error:
            assert "write all times of the file with their zone" in str(error)

    (cured,) = read
    (exchange,) = cured.exchanges
    assert (exchange.answer_time - exchange.prompt_time).total_seconds() == 4


def test_records_of_a_run_agree_on_zones() -> None:
    """A run with times both with and without a time zone is refused."""
    records = [record_v3(), record_v3(), changed(record_v3(), "startTime", ZONED)]
    with pytest.raises(
        ImportRefused, match=r"record 2 \(from 0\): startTime cannot be compared with"
    ):
        read_runs(ResultFile("f.json", as_json(records)), Iris())


@pytest.mark.parametrize("raw", [None, 3, "text", []])
def test_record_must_be_an_object(raw: Any) -> None:
    """A list of anything but objects is refused."""
    with pytest.raises(ImportRefused, match=r"f\.json: record 7 \(from 0\) is not an object"):
        read_record(raw, "f.json", 7)


@pytest.mark.parametrize("path", ["info", "taskData", "taskInfo.taskParameter", "duration"])
def test_null_and_absent_fields_are_taken(path: str) -> None:
    """Optional fields of a record may be null or absent."""
    for value in (None, ...):
        record = changed(record_v3(), path, value)
        assert read_record(record, "f.json", 0).ended >= read_record(record, "f.json", 0).started


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("0:00:01.522467", 1.522467), ("1 day, 1:00:00", 90_000), ("2 days, 0:00:00.5", 172_800.5)],
)
def test_duration_ends_the_dialogue(duration: str, seconds: float) -> None:
    """The end of a dialogue is its start plus its duration, to the microsecond."""
    found = read_record(changed(record_v3(), "duration", duration), "f.json", 0)
    assert (found.ended - found.started).total_seconds() == seconds


def test_round_numbers() -> None:
    """Only plain decimal numbers are rounds; every other name is an aggregate."""
    assert [round_number(name) for name in ("0", "12")] == [0, 12]
    assert all(round_number(name) is None for name in ("00", "-1", "mean", "", "²", "٣", "1.0"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
PATHS = [
    *("interactions", "scores", "info", "taskInfo", "taskData", "modelId", "startTime", "duration"),
    *("taskInfo.taskId", "taskInfo.version", "taskInfo.taskLabel", "taskInfo.taskParameter"),
    *("scores.0", "scores.last", "info.0", "info.last", "taskSizeInfo", "reevalOriginalTime"),
]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=200, deadline=None)
@given(st.sampled_from(PATHS), JSON)
def test_any_change_is_converted_or_refused(path: str, value: Any) -> None:
    """Whatever a field contains, the file is imported or refused with a message."""
    file = ResultFile("f.json", as_json([changed(dialogue_v3(), path, value)]))
    said = None
    try:
        (run,) = read_runs(file, Iris())
    except ImportRefused as error:
        said = str(error)
    assert len(run.items) == 1 if said is None else said.startswith("f.json: ")
