# SPDX-License-Identifier: Apache-2.0
"""Writes results as triples and reads them back.

Only this package knows the shape of the result graph. It writes N-Triples text in a
:class:`~kgbench.store.protocol.Block` and returns the values of :mod:`kgbench.model` when it reads.
Writing the same value twice changes nothing.
"""

from kgbench.record.entries import case_entry, model_entry, registry_entry, task_entry
from kgbench.record.evaluations import evaluation_triples
from kgbench.record.recorder import Recorder

__all__ = [
    "Recorder",
    "case_entry",
    "evaluation_triples",
    "model_entry",
    "registry_entry",
    "task_entry",
]
