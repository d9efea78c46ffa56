# SPDX-License-Identifier: Apache-2.0
"""Publications of other groups: downloaded within limits, verified, stored apart, and compared."""
