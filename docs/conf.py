"""Settings of the documentation: `sphinx-build docs docs/_build` with the extra `docs` installed."""

project = "claude_control"
extensions = ["myst_parser"]
html_theme = "furo"
exclude_patterns = ["_build"]
# README.md lies outside of the documentation's folder.
suppress_warnings = ["myst.xref_missing"]
