"""RECLAIM for Jupyter: can an AI agent reproduce the claim of a machine-learning paper?"""

__version__ = "0.1.0"
