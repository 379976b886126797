"""Analyzers of volume claims."""
