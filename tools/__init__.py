# SPDX-License-Identifier: Apache-2.0
"""Programs for releases: licences and bill of materials. They are no part of the package."""
