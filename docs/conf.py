"""Settings of the documentation: `sphinx-build -W docs docs/_build` with the extra `docs` installed."""

project = "claude_control"
extensions = ["myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build"]
# Links to headings, as GitHub names them.
myst_heading_anchors = 3
# The README lies outside of the documentation's folder; tests/test_documentation.py checks every link, this one too.
suppress_warnings = ["myst.xref_missing"]
