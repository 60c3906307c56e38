"""How the documentation is built: ``sphinx-build -W docs site``."""

import importlib
import os
import re
from importlib import metadata

from docutils import nodes
from docutils.parsers.rst import Directive

# The width of help texts.
os.environ["COLUMNS"] = "84"

project = "ftax_micro"
author = "The ftax_micro developers"
copyright = "2026, the ftax_micro developers"
release = metadata.version("ftax-micro")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Single backticks in our docstrings are code.
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
nitpicky = False

html_theme = "furo"
html_title = "ftax_micro"
# Nothing is loaded from elsewhere: the pages work without a network.
html_theme_options = {"source_repository": "", "navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]

# A table below such a comment is what the command above it prints; tests compare the two.
PRINTED = re.compile(r"^<!-- printed -->\n+((?:\|.*\n)+)", re.MULTILINE)


def mark_printed(_app, _name, content):
    """Let the stylesheet know these tables from those made of words."""
    content[0] = PRINTED.sub(r":::{container} printed\n\1:::\n", content[0])


class CommandHelp(Directive):
    """The help of a command, as it prints it."""

    required_arguments = 1

    def run(self):
        (name,) = self.arguments
        module = importlib.import_module(f"ftax_micro.{name}")
        text = module.usage() if name == "__main__" else module.build_parser().format_help()
        return [nodes.literal_block(text, text, language="text")]


def setup(app):
    """What Sphinx asks of this file."""
    app.add_directive("command-help", CommandHelp)
    app.connect("source-read", mark_printed)
