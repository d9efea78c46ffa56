# SPDX-License-Identifier: Apache-2.0
"""Importers: results that others published, as runs, cases and evaluations of kgbench."""
