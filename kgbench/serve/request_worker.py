# SPDX-License-Identifier: Apache-2.0
"""The worker process that parses large requests: ``python -m kgbench.serve.request_worker``.

Its isolation and protocol are those of query workers (see :mod:`kgbench.serve.worker`). A job names
one of :data:`READERS` and has its arguments, pickled. The answer is a pickled pair of the result
and the fields of the :class:`~kgbench.serve.refusals.Refused` that was raised, if any.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from kgbench.rdf.lexer import TooManyTokens
from kgbench.serve import admission, request_parsing, worker
from kgbench.serve.refusals import Refused

READERS: Mapping[str, Callable[..., Any]] = {
    "operation": request_parsing.operation,
    "triples": request_parsing.triples,
    "admit": admission.admit,
}


def read(job: Mapping[str, Any], stream: BinaryIO) -> None:
    """Run a job and send its result or refusal."""
    # The arguments come from the server, which is the parent of this process.
    arguments = pickle.loads(base64.b64decode(job["arguments"]))  # noqa: S301
    result: tuple[Any, tuple[int, str, dict[str, str]] | None]
    try:
        result = (READERS[job["read"]](*arguments), None)
    except Refused as refused:
        result = (None, (refused.status, refused.message, refused.headers))
    except TooManyTokens as error:
        result = (None, (413, f"{error}: this server reads no more", {}))
    worker.send(stream, worker.DATA, pickle.dumps(result))


if __name__ == "__main__":
    worker.answer_jobs(read)
