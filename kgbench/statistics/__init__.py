# SPDX-License-Identifier: Apache-2.0
"""Pure estimators: exact sums, intervals, tests, clusters and power."""
