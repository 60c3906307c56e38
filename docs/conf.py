"""How the documentation is built: ``sphinx-build -W docs site``."""

import re
from importlib import metadata

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


def setup(app):
    """What Sphinx asks of this file."""
    app.connect("source-read", mark_printed)
