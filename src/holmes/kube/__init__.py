"""Kubernetes: one protocol, live and saved clusters behind it."""
