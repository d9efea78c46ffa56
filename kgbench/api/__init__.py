# SPDX-License-Identifier: Apache-2.0
"""The Python API: a store as an object with runs, queries, analyses and dialogues."""
