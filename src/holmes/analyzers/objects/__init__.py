"""Analyzers of objects of any kind."""
