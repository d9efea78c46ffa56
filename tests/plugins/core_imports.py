# SPDX-License-Identifier: Apache-2.0
"""The modules of the core that each plug-in imports: the public surface that is really used."""

from __future__ import annotations

CORE_IMPORTS: dict[str, set[str]] = {
    "dask": {
        "errors",
        "execution.judging",
        "execution.pools",
        "model",
    },
    "harvest": {
        "analysis.declarations",
        "analysis.histogram",
        "analysis.leaderboard",
        "analysis.score_selectors",
        "analysis.scores",
        "analysis.selection",
        "analysis.significance",
        "analysis.tables",
        "characters",
        "cli.interruption",
        "cli.options",
        "errors",
        "importers.rdf.contents",
        "importers.rdf.loading",
        "importers.rdf.parsing",
        "importers.rdf.sources",
        "net.limits",
        "publish.recipe",
        "publish.settings",
        "publish.signing",
        "rdf.queries",
        "record.reading",
        "signing.canonical",
        "signing.key_list",
        "signing.proofs",
        "store",
        "store.iris",
        "store.protocol",
        "vocab",
    },
}
