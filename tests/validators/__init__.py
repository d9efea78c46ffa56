# SPDX-License-Identifier: Apache-2.0
"""Validators of other projects, and their results for everything that kgbench publishes."""
