# SPDX-License-Identifier: Apache-2.0
"""The worker process that runs analyses for pages: ``python -m kgbench.serve.analyst``.

Its isolation and protocol are those of query workers (see :mod:`kgbench.serve.worker`). A job names
one of :data:`kgbench.serve.analyses.ANALYSES`; the answer is its result, pickled.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads take address space, which has a limit

from kgbench.errors import NotRecorded, QueryError
from kgbench.pages import snapshot
from kgbench.pages.snapshot import View
from kgbench.serve import worker
from kgbench.serve.analyses import ANALYSES


class Defect(Exception):
    """An analysis failed for a reason other than missing data."""


def _handler() -> Callable[[Mapping[str, Any], BinaryIO], None]:
    """Return a function that runs jobs; the snapshot of a job stays open for the next one."""
    base = ""

    def open_view(path: str) -> View:
        # The server holds the snapshot while jobs use it. This process must not hold it, because
        # its view stays open after the job and would keep an old snapshot on disk.
        view = snapshot.open_view(Path(path), None, base)
        view.location = Path(view.location).name  # messages go to clients, which see no paths
        return view

    snapshots = worker.OpenSnapshots(open_view)

    def answer(job: Mapping[str, Any], stream: BinaryIO) -> None:
        nonlocal base
        base = job["base"]
        view = snapshots.get(job["snapshot"])
        try:
            result = ANALYSES[job["analysis"]](view, **job["arguments"])
        except (QueryError, NotRecorded, MemoryError):
            raise
        except Exception as error:  # a defect of ours, not an error in a client's query
            raise Defect(f"{job['analysis']}: {type(error).__name__}: {error}") from error
        worker.send(stream, worker.DATA, pickle.dumps(result))

    return answer


if __name__ == "__main__":
    worker.answer_jobs(_handler())
