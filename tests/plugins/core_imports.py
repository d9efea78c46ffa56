# SPDX-License-Identifier: Apache-2.0
"""The modules of the core that each plug-in imports beside the door, ``kgbench.api``."""

from __future__ import annotations

import re

_LISTED = """
agents: cli.option_groups cli.printing datasets.descriptions execution.judging execution.pools
    execution.query_terms model on_demand rdf rdf.queries scoring.result_sets serve.admission
    serve.analysis_pages serve.app serve.dialogue_lists serve.requests serve.service serve.settings
    serve.startup store tasks.bestiary tasks.catalogue tasks.graphs tasks.texts tasks.tool_prompts
    tasks.typed_answers tool_calls tools.wording vocab worlds.clauses worlds.generator worlds.model
    worlds.naming worlds.questions
challenges: characters cli.option_groups cli.options cli.printing config config.trees connectors
    connectors.bodies connectors.calls connectors.declared connectors.extraction connectors.replay
    connectors.sdk datasets.descriptions datasets.home datasets.install datasets.json_files
    engine.rate_limiter engine.spending families.mapping_answers families.queries
    importers.llm_kg_bench importers.load mapping.document mapping.execution mapping.limits
    mapping.listings mapping.sources model net.environment net.limits on_demand policies.blank_nodes
    policies.results rdf rdf.quads record.recorder scoring.single_words serve.app serve.requests
    serve.settings serve.startup software store store.iris store.protocol tasks.catalogue
    tasks.graphs tasks.typed_answers tool_calls tools.wording vocab
dask: execution.pools
exchange: analysis.task_scores characters cli.export cli.options cli.printing errors
    exports.outgoing_run files importers.published model publish.folder publish.redaction
    publish.settings publish.signing rdf rdf.declared rdf.quads rdf.queries record.schema resources
    scores.inference scores.reading signing.keys statistics.histogram statistics.intervals
    store.iris tasks.catalogue tasks.tool_prompts tools.module vocab
google_legacy: connectors.calls connectors.declared connectors.google net.client net.limits
harvest: analysis.leaderboard characters cli.commands cli.options errors files
    importers.rdf.contents importers.rdf.loading importers.rdf.parsing importers.rdf.sources
    net.limits net.web publish.settings publish.signing record.reading scores.catalogue
    scores.declared scores.reading scores.selection signing.key_list signing.proofs
    statistics.histogram store store.iris tables vocab
inspect: cli.commands cli.export cli.options cli.printing clock connectors.declared
    engine.tool_turns errors execution.frames execution.judging execution.pools exports.outgoing_run
    files importers.llm_kg_bench importers.load importers.metrics model net.limits publish.redaction
    rdf record.evaluations record.schema scoring.formulas software store store.iris tasks.catalogue
    tasks.tool_prompts tool_calls tools.module tools.wording vocab
judging: analysis.outcomes analysis.registry analysis.run_results analysis.run_totals
    analysis.verdicts cli.option_groups cli.options cli.printing cli.run cli.run_report clock config
    config.turtle datasets.json_files engine engine.planning engine.plans errors model on_demand
    pages.rendering rdf rdf.declared record.bulk record.dialogues record.evaluations
    record.judgements record.reading record.recorder record.reviews reevaluation.passes resources
    run_selection scores.catalogue scores.inference scores.selection serve.app serve.requests
    serve.settings serve.startup software statistics.intervals statistics.prediction_powered
    statistics.rater_agreement store store.iris store.protocol store.publication_keys
    tables.rendering tasks.catalogue vocab
papers: analysis.compass analysis.difficulty analysis.format_preference analysis.leaderboard
    analysis.leaders analysis.policies analysis.registry analysis.task_scores errors files
    plots.box_plots plots.figures rdf.declared record.reading reevaluation.causes
    reevaluation.comparison scores.catalogue scores.declared scores.inference scores.reading
    scores.selection statistics.histogram statistics.intervals store tables tables.rendering
    tasks.catalogue vocab
virtuoso: store.quirks
vllm: children.child connectors connectors.chat_completions connectors.declared connectors.local
    connectors.openai connectors.servers
"""

CORE_IMPORTS: dict[str, set[str]] = {
    name: set(modules.split())
    for name, modules in re.findall(r"^(\w+):(.*(?:\n .*)*)", _LISTED, re.MULTILINE)
}
