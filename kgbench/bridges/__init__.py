# SPDX-License-Identifier: Apache-2.0
"""Bridges that offer kgbench's tasks and judges in other evaluation frameworks."""
