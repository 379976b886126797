"""Kubernetes through the API server (or a snapshot of it): objects, events, logs, live metrics."""
