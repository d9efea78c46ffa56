# SPDX-License-Identifier: Apache-2.0
"""Tools for models: the text form of calls and results, argument checks, and budgets."""
