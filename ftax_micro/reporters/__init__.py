"""Output formats, one file each, opened by name: a function from a view to text."""

from __future__ import annotations

from ftax_micro.registry import Registry

FLOOR_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.table:render_floor",
        "csv": "ftax_micro.reporters.csv:render_floor",
        "json": "ftax_micro.reporters.json:render_floor",
        "markdown": "ftax_micro.reporters.markdown:render_floor",
    },
)

COMPARISON_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.comparison:render_table",
        "csv": "ftax_micro.reporters.comparison:render_csv",
        "json": "ftax_micro.reporters.comparison:render_json",
        "markdown": "ftax_micro.reporters.comparison:render_markdown",
    },
)

DIAGNOSIS_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.table:render_diagnosis",
        "json": "ftax_micro.reporters.json:render_diagnosis",
        "markdown": "ftax_micro.reporters.markdown:render_diagnosis",
    },
)

LATENCY_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.latency:render_table",
        "csv": "ftax_micro.reporters.latency:render_csv",
        "json": "ftax_micro.reporters.latency:render_json",
        "markdown": "ftax_micro.reporters.latency:render_markdown",
        "matrix": "ftax_micro.reporters.latency_matrix:render_matrix",
    },
)

LADDER_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.ladder:render_table",
        "csv": "ftax_micro.reporters.ladder:render_csv",
        "json": "ftax_micro.reporters.ladder:render_json",
        "markdown": "ftax_micro.reporters.ladder:render_markdown",
    },
)

POOL_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.pools:render_table",
        "csv": "ftax_micro.reporters.pools:render_csv",
        "json": "ftax_micro.reporters.pools:render_json",
        "markdown": "ftax_micro.reporters.pools:render_markdown",
    },
)

SHEET_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.sheets:render_table",
        "csv": "ftax_micro.reporters.sheets:render_csv",
        "json": "ftax_micro.reporters.sheets:render_json",
        "markdown": "ftax_micro.reporters.sheets:render_markdown",
    },
)

MAIN_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.main_job:render_table",
        "json": "ftax_micro.reporters.main_job:render_json",
        "markdown": "ftax_micro.reporters.main_job:render_markdown",
    },
)

FLEET_REPORTERS = Registry(
    "format",
    {
        "table": "ftax_micro.reporters.fleet:render_table",
        "csv": "ftax_micro.reporters.fleet:render_csv",
        "json": "ftax_micro.reporters.fleet:render_json",
        "markdown": "ftax_micro.reporters.fleet:render_markdown",
    },
)
