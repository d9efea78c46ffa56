# SPDX-License-Identifier: Apache-2.0
"""What any HTTP response may cost in bytes and time, and the client that keeps to it.

:mod:`kgbench.net.limits` holds the rules, which the clients of providers' SDKs (in ``connectors``)
keep as well. :mod:`kgbench.net.client` is the client of stores, on the connections of
:mod:`kgbench.net.transport`; :mod:`kgbench.net.web` makes single requests with it, for endpoints,
downloads and probes.
"""
