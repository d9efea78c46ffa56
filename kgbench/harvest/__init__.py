# SPDX-License-Identifier: Apache-2.0
"""Publications of other groups: fetched within limits, verified, kept apart, and compared."""
