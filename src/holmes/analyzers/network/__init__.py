"""Analyzers of the way to the pods: Services, Ingresses, policies."""
