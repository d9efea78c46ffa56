# SPDX-License-Identifier: Apache-2.0
"""Validators of other communities, and what they say of everything that kgbench publishes."""
