# SPDX-License-Identifier: Apache-2.0
"""One run in the formats of other communities, each a view of what ``publish`` would publish."""
