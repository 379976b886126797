"""Analyzers of pods and their containers."""
