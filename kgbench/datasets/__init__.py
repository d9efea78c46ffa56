# SPDX-License-Identifier: Apache-2.0
"""External data sets: descriptions, installation, and readers of their files."""
