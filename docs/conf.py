"""How the documentation is built: ``sphinx-build -W docs site``."""

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
