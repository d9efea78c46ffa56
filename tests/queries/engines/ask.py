# SPDX-License-Identifier: Apache-2.0
"""Runs every query of a folder in an in-process engine; a script, so that it can be killed.

    python -m tests.queries.engines.ask ENGINE DUMP QUERIES ANSWERS SECONDS

does what ``Ask.java`` does, with ``oxigraph`` or ``rdflib``. SECONDS are CPU time of this process,
so that no query times out because the machine is busy.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path


def oxigraph(dump: Path):
    """Load the dump into Oxigraph; return a function from a query to its answer as JSON."""
    import pyoxigraph as ox

    store = ox.Store()
    store.bulk_load(path=str(dump), format=ox.RdfFormat.N_QUADS)
    return lambda text: store.query(text).serialize(format=ox.QueryResultsFormat.JSON)


def rdflib(dump: Path):
    """Load the dump into rdflib; return a function from a query to its answer as JSON."""
    import rdflib

    dataset = rdflib.Dataset(default_union=False)
    dataset.parse(dump, format="nquads")
    return lambda text: dataset.query(text).serialize(format="json")


def stop(*_: object) -> None:
    """End a query that takes too long, if the engine lets Python run meanwhile."""
    raise TimeoutError("it takes too long")


def main(engine: str, dump: str, queries: str, answers: str, seconds: str) -> None:
    """Print a line for the loading and one for each query: name, seconds, error."""
    signal.signal(signal.SIGVTALRM, stop)
    begin = time.perf_counter()
    answer = {"oxigraph": oxigraph, "rdflib": rdflib}[engine](Path(dump))
    tell("", begin, "")
    for path in sorted(Path(queries).glob("*.rq")):
        begin = time.perf_counter()
        error = ""
        signal.setitimer(signal.ITIMER_VIRTUAL, float(seconds))
        try:
            Path(answers, f"{path.stem}.json").write_bytes(answer(path.read_text("utf-8")))
        except Exception as problem:  # noqa: BLE001 - any error of the engine is reported
            error = f"{type(problem).__name__}: {problem}"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        tell(path.stem, begin, error)


def tell(name: str, begin: float, error: str) -> None:
    """Print one line without buffering."""
    line = (name, f"{time.perf_counter() - begin:.3f}", " ".join(error.split()))
    print("\t".join(line), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main(*sys.argv[1:])
