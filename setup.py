"""Everything is in setup.cfg."""

import setuptools

setuptools.setup()
