# SPDX-License-Identifier: Apache-2.0
"""Writes results as triples and reads them back.

Only this package knows the shape of the result graph. It writes N-Triples text in a
:class:`~kgbench.store.protocol.Block` and returns the values of :mod:`kgbench.model` when it reads.
Writing the same value twice changes nothing.
"""
