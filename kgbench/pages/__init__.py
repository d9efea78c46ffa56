# SPDX-License-Identifier: Apache-2.0
"""What pages show of a store, whoever sends them: contents, drawings, templates and style."""
