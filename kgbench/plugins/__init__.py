# SPDX-License-Identifier: Apache-2.0
"""What only some need, each in a folder: found by entry points, and imported by no other room."""
