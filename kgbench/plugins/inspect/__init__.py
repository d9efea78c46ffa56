# SPDX-License-Identifier: Apache-2.0
"""Inspect AI: kgbench's tasks and judges in it, and its logs, which are imported and exported."""
