# SPDX-License-Identifier: Apache-2.0
"""Google's models through its retired package, so that earlier measurements can be repeated."""
