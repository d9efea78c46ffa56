# SPDX-License-Identifier: Apache-2.0
"""Bridges: kgbench's tasks inside of other frameworks, judged as kgbench judges them."""
