# SPDX-License-Identifier: Apache-2.0
"""Logs of Inspect AI: reading their files, and conversion to runs of kgbench.

A log is a ``.json`` file, or an ``.eval`` file: a zip archive of a header and samples. Both are
read without Inspect AI. Members of newer archives are compressed with Zstandard, which needs the
package ``zstandard``.

A log of kgbench's tasks becomes one run with one published pass: each sample is a dialogue, each
epoch an iteration. Scores are taken from the log; ``kgbench reevaluate`` computes them again. A log
has the same identity as ``.eval`` and as ``.json``.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import kgbench.api as kb
from kgbench import files
from kgbench.importers.llm_kg_bench import Item
from kgbench.model import Evaluation, TaskClass
from kgbench.net.limits import Budget
from kgbench.plugins.inspect import samples
from kgbench.rdf import canonical_json, digest
from kgbench.record.evaluations import scores_by_iri
from kgbench.software import Software
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue

MAX_BYTES = 1 << 30
"""The largest log file, and the limit for all members of an archive (bytes)."""

MAX_SECONDS = 3_600.0
"""The default time limit (seconds)."""

MAX_SAMPLES = 200_000

_ZSTANDARD = 93  # the compression method in a zip archive
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature; lengths of the name and the extra field


@dataclass(frozen=True, slots=True)
class Log:
    """A log: the name of its file, its header, and its samples, sorted by epoch and id."""

    name: str
    header: dict[str, kb.Json]
    samples: tuple[dict[str, kb.Json], ...]


def read(path: Path, budget: Budget | None = None) -> Log:
    """Read a log file within ``budget``.

    Raises :class:`~kgbench.errors.ImportRefused` if it is not a log, or too large.
    """
    budget = budget or Budget(2 * MAX_BYTES, MAX_SECONDS)
    try:
        with path.open("rb") as stream:
            most = min(MAX_BYTES, budget.bytes)
            size = os.fstat(stream.fileno()).st_size or most  # of a pipe it is 0
            content = stream.read(min(size, most) + 1)  # a read takes that much memory at once
    except OSError as error:
        raise kb.ImportRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_BYTES:
        raise kb.ImportRefused(f"{path}: larger than {MAX_BYTES} bytes, the most that is read")
    budget.spend(len(content))
    if zipfile.is_zipfile(io.BytesIO(content)):
        header, samples = _read_archive(path.name, content, budget)
    else:
        header = _object(path.name, content)
        samples = header.pop("samples", None) or []
    if not isinstance(header.get("eval"), dict):
        raise kb.ImportRefused(f"{path.name}: no log of Inspect AI: it has no field 'eval'")
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise kb.ImportRefused(f"{path.name}: 'samples' is not a list of objects")
    return Log(path.name, header, tuple(sorted(samples, key=_sort_key)))


def _sort_key(sample: dict[str, kb.Json]) -> tuple[str, str]:
    """Return a sort key that puts short numbers first, the same in both formats of a log."""
    epoch, name = (str(sample.get(field, "")).rjust(12, "0") for field in ("epoch", "id"))
    return epoch, name


def _read_archive(
    name: str, content: bytes, budget: Budget
) -> tuple[dict[str, kb.Json], list[kb.Json]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            samples = [
                filename for filename in members if re.fullmatch(r"samples/.*[.]json", filename)
            ]
            if "header.json" not in members:
                raise kb.ImportRefused(
                    f"{name}: no log of Inspect AI, or of an evaluation that never ended: the "
                    "archive has no header.json"
                )
            if len(samples) > MAX_SAMPLES:
                raise kb.ImportRefused(f"{name}: {len(samples)} samples are too many for one log")
            selected = [members[member] for member in ("header.json", *samples)]
            if sum(member.file_size for member in selected) > MAX_BYTES:
                raise kb.ImportRefused(
                    f"{name}: it holds more than the {MAX_BYTES} bytes that are read"
                )
            budget.spend(sum(member.file_size for member in selected))
            members_read = _read_members(name, archive, content, selected)
            header, *documents = budget.within(members_read)
            return header, list(documents)
    except files.errors_of_damage() as error:
        raise kb.ImportRefused(f"{name}: the archive is damaged ({error})") from error
    except RuntimeError as error:
        raise kb.ImportRefused(f"{name}: the archive is encrypted; logs are not") from error


def _read_members(
    name: str, archive: zipfile.ZipFile, content: bytes, selected: list[zipfile.ZipInfo]
) -> Iterator[dict[str, kb.Json]]:
    for member in selected:
        if member.compress_type == _ZSTANDARD:
            data = _zstandard(name, content, member)
        else:
            with archive.open(member) as stream:
                data = stream.read(member.file_size + 1)
        yield _object(f"{name}/{member.filename}", data)


def _zstandard(name: str, content: bytes, member: zipfile.ZipInfo) -> bytes:
    """Decompress a Zstandard member, which :mod:`zipfile` supports only from Python 3.14.

    At most the declared size is decompressed.
    """
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise kb.ImportRefused(
            f"{name} is compressed with Zstandard: {kb.pip_install('kgbench[inspect]')}, or make "
            f"JSON of it with 'inspect log convert --to json'"
        ) from None
    begin = member.header_offset
    signature, name_length, extra_length = _LOCAL_HEADER.unpack_from(content, begin)
    if signature != b"PK\x03\x04":
        raise kb.ImportRefused(f"{name}: the archive is damaged: {member.filename} is not there")
    begin += _LOCAL_HEADER.size + name_length + extra_length
    compressed = io.BytesIO(content[begin : begin + member.compress_size])
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
        data: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise kb.ImportRefused(f"{name}: {member.filename} is damaged ({error})") from error
    if zlib.crc32(data) != member.CRC:
        raise kb.ImportRefused(f"{name}: {member.filename} is damaged (its checksum is another)")
    return data


def _object(name: str, content: bytes) -> dict[str, kb.Json]:
    try:
        value = json.loads(content.decode("utf-8-sig", "surrogatepass"), parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise kb.ImportRefused(f"{name}: no log of Inspect AI: it is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise kb.ImportRefused(f"{name}: no log of Inspect AI: it is not a JSON object")
    return value


SCORER = "kgbench_scores"
_VERSION = re.compile(r"[\w.+!-]{1,60}")


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """The run of a log, and the number of samples left out for lack of an answer or score."""

    run: kb.ImportedRun
    without_answer: int


def read_run(log: Log, iris: Iris) -> ImportedLog:
    """Convert a log to a run.

    Raises :class:`~kgbench.errors.ImportRefused` for logs of other tasks, for logs whose cases
    cannot be generated again by this kgbench, and for malformed ones.
    """
    sample_cases = [_sample_case(log, sample) for sample in log.samples]
    if not sample_cases:
        raise kb.ImportRefused(
            f"{log.name}: it holds no samples (was it written with --no-log-samples?)"
        )
    suites = {sample_case.suite for sample_case in sample_cases}
    if len(suites) > 1:
        raise kb.ImportRefused(f"{log.name}: it mixes the suites {', '.join(sorted(suites))}")
    # Only what is read: both formats of a log must give the same run.
    ids = [log.header["eval"].get(name) for name in ("eval_id", "task_id", "created", "model")]
    content = [[s.get(name) for name in ("id", "epoch", "metadata", "scores")] for s in log.samples]
    identity = digest(canonical_json([ids, _plain(content)]))
    conversion = _Conversion(log, iris, suites.pop(), identity)
    items = [
        item
        for sample, sample_case in zip(log.samples, sample_cases, strict=True)
        if (item := conversion.item(sample, sample_case)) is not None
    ]
    if not items:
        raise kb.ImportRefused(
            f"{log.name}: none of its {len(sample_cases)} samples has an answer and scores"
        )
    return ImportedLog(conversion.imported(items), len(sample_cases) - len(items))


def _sample_case(log: Log, sample: Mapping[str, kb.Json]) -> samples.CaseIdentity:
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict) or samples.CASE not in metadata:
        task = str(log.header["eval"].get("task"))[:80]
        raise kb.ImportRefused(
            f"{log.name}: {task!r} is not a task of kgbench: only logs of "
            "'inspect eval kgbench/LABEL' can be imported, which name their cases"
        )
    return samples.CaseIdentity.read(metadata[samples.CASE], _sample_name(log, sample))


def _sample_name(log: Log, sample: Mapping[str, kb.Json]) -> str:
    return (
        f"{log.name}: sample {str(sample.get('id'))[:40]} of epoch {str(sample.get('epoch'))[:9]}"
    )


def _plain(value: kb.Json) -> kb.Json:
    """Replace floats by text, because canonical JSON does not allow ``NaN``."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return repr(value) if isinstance(value, float) else value


class _Conversion:
    def __init__(self, log: Log, iris: Iris, suite: str, identity: str) -> None:
        self._log = log
        self._tasks: dict[str, kb.Task] = {}
        self._cases: dict[str, kb.Case] = {}
        self._iterations: Counter[str] = Counter()
        self._run = kb.PublishedRun(
            iris,
            suite,
            _model(log, iris),
            _software(log),
            source=log.name,
            content=identity,
            identity=f"inspect/{identity}",
        )

    def imported(self, items: list[Item]) -> kb.ImportedRun:
        started = [dialogue.started for dialogue, _ in items if dialogue.started is not None]
        ended = [dialogue.ended for dialogue, _ in items if dialogue.ended is not None]
        tasks, cases = self._tasks.values(), self._cases.values()
        return self._run.imported(tasks, cases, items, started=min(started), ended=max(ended))

    def item(self, sample: Mapping[str, kb.Json], identity: samples.CaseIdentity) -> Item | None:
        source = _sample_name(self._log, sample)
        task, case = identity.task(source), identity.case(source)
        score = _object_field(sample, "scores", source).get(SCORER)
        turns = sample["metadata"].get(samples.TURNS)
        if sample.get("error") is not None or not turns or score is None:
            return None
        if not isinstance(turns, list) or not isinstance(score, dict):
            raise kb.ImportRefused(f"{source}: its turns or scores are not as kgbench writes them")
        task_class = catalogue.task_class(task.task_class)
        self._tasks.setdefault(task.iri, task)
        self._cases.setdefault(case.iri, case)
        iteration = self._iterations[task.label]
        self._iterations[task.label] += 1
        dialogue = self._run.dialogue(
            task,
            case,
            iteration,
            [self._run.id, identity.as_json(), iteration],
            turns=[samples.read_turn(turn, f"{source}: turn {k}") for k, turn in enumerate(turns)],
            started=samples.moment(turns[0].get("started"), source),
            ended=samples.moment(turns[-1].get("ended"), source),
            tool_protocol=samples.read_protocol(sample["metadata"], source),
        )
        if (answers := len(dialogue.judged)) > task_class.max_rounds:
            raise kb.ImportRefused(f"{source}: {answers} answers are more than the task takes")
        return dialogue, self._evaluations(task_class, dialogue, score, source)

    def _evaluations(
        self,
        task_class: TaskClass,
        dialogue: kb.Dialogue,
        score: Mapping[str, kb.Json],
        source: str,
    ) -> tuple[Evaluation, ...]:
        values = _object_field(score, "metadata", source).get(samples.VERDICTS)
        if not isinstance(values, list) or len(values) != len(dialogue.judged):
            raise kb.ImportRefused(f"{source}: its score does not have one verdict for each answer")
        declared = task_class.answer_metrics
        verdicts = [
            samples.read_verdict(value, declared, f"{source}: verdict {k}")
            for k, value in enumerate(values)
        ]
        has_rounds = task_class.max_rounds > 1
        names = {name: m for name, m in task_class.metrics.items() if name not in declared}
        scores = samples.read_scores(
            score.get("value"), names if has_rounds else declared, f"{source}: its score"
        )
        if not has_rounds:
            verdicts[-1] = replace(verdicts[-1], scores=scores)
        results = [
            self._run.evaluation(
                dialogue,
                k,
                verdict.outcome,
                scores_by_iri(task_class, verdict.scores),
                verdict.infos,
            )
            for k, verdict in zip(dialogue.judged, verdicts, strict=True)
        ]
        if has_rounds:  # the first verdict without scores, else the last one
            final = next((v for v in verdicts if not v.scores), verdicts[-1])
            count = {"multiShotCount": len(dialogue.turns)}
            by_metric = scores_by_iri(task_class, scores)
            results.append(self._run.evaluation(dialogue, None, final.outcome, by_metric, count))
        return tuple(results)


def _object_field(value: Mapping[str, kb.Json], field: str, source: str) -> Mapping[str, kb.Json]:
    part = value.get(field)
    if part is not None and not isinstance(part, dict):
        raise kb.ImportRefused(f"{source}: '{field}' is not an object")
    return part or {}


def _model(log: Log, iris: Iris) -> kb.ModelSetup:
    """Return the model under the name that Inspect uses, with its generation settings."""
    header = log.header["eval"]
    name = header.get("model")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise kb.ImportRefused(f"{log.name}: eval.model is not the name of a model")
    config = header.get("model_generate_config")
    sampling = {
        key: value
        for key, value in (config.items() if isinstance(config, dict) else ())
        if isinstance(value, int | float | str)
    }
    suffix = f"~{digest(canonical_json(_plain(sampling)))[:8]}" if sampling else ""
    return kb.ModelSetup(
        iri=iris.mint("model", model=slug(name) + suffix),
        label=name,
        connector="",
        model_id=name,
        spec=name,
        sampling=sampling,
    )


def _software(log: Log) -> Software:
    packages = log.header["eval"].get("packages")
    version = packages.get("inspect_ai") if isinstance(packages, dict) else None
    is_valid = isinstance(version, str) and _VERSION.fullmatch(version)
    return Software("Inspect AI", str(version) if is_valid else "unknown")
