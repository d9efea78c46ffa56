# SPDX-License-Identifier: Apache-2.0
# The names by purpose, as type checkers read them, and the module itself.
# ruff: noqa: I001, ERA001 - sorted by purpose and name, under headings

# results and runs
from kgbench.model import Dialogue as Dialogue
from kgbench.api.connection import Dialogues as Dialogues
from kgbench.api.runs import Reevaluation as Reevaluation
from kgbench.api.results import Results as Results
from kgbench.api.runs import Run as Run
from kgbench.api.results import open as open  # noqa: A004 - what users call it

# families
from kgbench.families.frame import DocumentFamily as DocumentFamily
from kgbench.families.frame import DrawnFamily as DrawnFamily
from kgbench.families.frame import Family as Family
from kgbench.families.frame import Feedback as Feedback
from kgbench.families.json_ld import JsonFamily as JsonFamily
from kgbench.families.frame import ListedFamily as ListedFamily
from kgbench.families.queries import QueryFamily as QueryFamily
from kgbench.families.queries import QueryFixFamily as QueryFixFamily
from kgbench.families.frame import Score as Score
from kgbench.families.frame import TurtleFamily as TurtleFamily
from kgbench.families.twins import TwinFamily as TwinFamily
from kgbench.families.frame import Unreadable as Unreadable
from kgbench.families.queries import Vocabulary as Vocabulary

# what judges take and return
from kgbench.model import Call as Call
from kgbench.model import Case as Case
from kgbench.model import Executor as Executor
from kgbench.model import Json as Json
from kgbench.model import Outcome as Outcome
from kgbench.model import ParsedGraph as ParsedGraph
from kgbench.model import QueryResult as QueryResult
from kgbench.model import Task as Task
from kgbench.model import Turn as Turn
from kgbench.model import Verdict as Verdict
from kgbench.tasks.catalogue import make_case as make_case
from kgbench.tasks.catalogue import make_task as make_task
from kgbench.families.frame import outcome as outcome

# vocabularies and formats
from kgbench.vocab import KGB as KGB
from kgbench.vocab import OWL as OWL
from kgbench.vocab import RDF as RDF
from kgbench.vocab import RDFS as RDFS
from kgbench.vocab import XSD as XSD
from kgbench.tasks.serialising import serialise as serialise

# comparing
from kgbench.scoring.agreement import Agreement as Agreement
from kgbench.scoring.agreement import agreement as agreement
from kgbench.families.comparing import compare as compare
from kgbench.scoring.agreement import compare_graphs as compare_graphs
from kgbench.scoring.agreement import compare_sets as compare_sets
from kgbench.scoring.fences import fenced_blocks as fenced_blocks
from kgbench.policies.policy import policy as policy
from kgbench.families.comparing import quoted as quoted
from kgbench.scoring.formulas import ratio as similarity

# drawing
from kgbench.worlds.naming import Chance as Chance
from kgbench.worlds.generator import Graph as Graph
from kgbench.worlds.generator import Instance as Instance
from kgbench.worlds.generator import LevelSheet as LevelSheet
from kgbench.worlds.model import Property as Property
from kgbench.worlds.generator import Sheet as Sheet
from kgbench.worlds.generator import World as World
from kgbench.worlds.generator import build_graph as build_graph
from kgbench.worlds.generator import first_drawn as first_drawn
from kgbench.worlds.generator import world_of as world_of

# tests
from kgbench.testing.judging import Example as Example
from kgbench.testing.judging import PlainExecutor as PlainExecutor
from kgbench.testing.judging import Scored as Scored
from kgbench.testing.contract import check_task_class as check_task_class
from kgbench.testing.judging import example as example
from kgbench.testing.hostile import answers as hostile_answers
from kgbench.testing.judging import score as score

# connectors
from kgbench.model import ModelSetup as ModelSetup
from kgbench.connectors.declared import Option as Option
from kgbench.model import Reply as Reply
from kgbench.model import Request as Request
from kgbench.tool_calls import Tool as Tool
from kgbench.tool_calls import ToolCall as ToolCall
from kgbench.tool_calls import ToolResult as ToolResult
from kgbench.model import Usage as Usage
from kgbench.connectors.declared import read_options as read_options

# data sets
from kgbench.datasets.descriptions import Installer as Installer

# importers
from kgbench.importers.llm_kg_bench import ImportedRun as ImportedRun
from kgbench.importers.published_runs import PublishedRun as PublishedRun
from kgbench.importers.published_runs import published_model as published_model

# analyses and tables
from kgbench.analysis.registry import Entry as AnalysisEntry
from kgbench.tables import Column as Column
from kgbench.plots.figures import FigureKind as FigureKind
from kgbench.tables import Kind as Kind
from kgbench.analysis.registry import Purpose as Purpose
from kgbench.tables import Ref as Ref
from kgbench.scores.selection import Selection as Selection
from kgbench.tables import Table as Table
from kgbench.tables import Value as Value
from kgbench.analysis.registry import analysis as analysis
from kgbench.scores.catalogue import models as model_names
from kgbench.rdf.queries import rows as query_rows
from kgbench.rdf.queries import run as run_query

# commands and exports
from kgbench.cli.export import Out as ExportFile
from kgbench.cli.export import Run as ExportRun
from kgbench.cli.export import Source as ExportSource
from kgbench.cli.options import AsJson as JsonOption
from kgbench.exports.outgoing_run import OutgoingRun as OutgoingRun
from kgbench.cli.options import Store as StoreOption
from kgbench.cli.commands import grouped as grouped
from kgbench.errors import pip_install as pip_install
from kgbench.cli.export import write as write_export

# pages
from kgbench.serve.admission import Refused as PageRefused
from kgbench.serve.settings import Settings as PageSettings

# stores
from kgbench.store.quirks import Quirks as ServerQuirks
from kgbench.store.protocol import Store as Store

# errors
from kgbench.errors import ConfigurationError as ConfigurationError
from kgbench.errors import ContextTooLong as ContextTooLong
from kgbench.errors import EvaluationError as EvaluationError
from kgbench.errors import ImportRefused as ImportRefused
from kgbench.errors import KgbenchError as KgbenchError
from kgbench.errors import ModelSpecError as ModelSpecError
from kgbench.errors import ProviderError as ProviderError
from kgbench.errors import ProviderRefused as ProviderRefused
from kgbench.errors import ProviderTimeout as ProviderTimeout
from kgbench.errors import QueryError as QueryError
from kgbench.errors import RateLimited as RateLimited
from kgbench.errors import ResourceError as ResourceError
from kgbench.errors import StoreError as StoreError
from kgbench.errors import TaskError as TaskError

__all__ = [  # names that differ from those at their place, which type checkers take for private
    "AnalysisEntry",
    "ExportFile",
    "ExportRun",
    "ExportSource",
    "JsonOption",
    "PageRefused",
    "PageSettings",
    "ServerQuirks",
    "StoreOption",
    "hostile_answers",
    "model_names",
    "query_rows",
    "read_options",
    "run_query",
    "similarity",
    "write_export",
]
