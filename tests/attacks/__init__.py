# SPDX-License-Identifier: Apache-2.0
"""Attacks and faults, made in numbers, and what they did.

``python -m tests.attacks`` carries them all out and prints a table; smaller numbers of each are
among the tests. ``python -m tests.attacks.damage`` repeats one damage to a store by its number.
"""
