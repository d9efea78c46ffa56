# SPDX-License-Identifier: Apache-2.0
"""Golden files: what kgbench makes of one small store, as text in ``files/``.

They hold while code moves. ``make golden`` renews them, and removes those that nothing makes any
longer. A commit that changes one says which line, and why.
"""
