# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of kgbench itself: ``make bench``, or ``python -m bench NAME...``.

Each benchmark is a module that exposes ``run() -> list[Result]``. Absolute times depend on the
machine, so claims rest on ratios of two medians measured in the same run.
"""
