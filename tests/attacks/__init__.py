# SPDX-License-Identifier: Apache-2.0
"""Attacks and faults in large numbers, and their effects.

``python -m tests.attacks`` carries out all of them and prints a table; the tests do so in smaller
numbers. ``python -m tests.attacks.damage`` repeats one damage to a store by its number.
"""
