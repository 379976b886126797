"""Analyzers of nodes."""
