"""Analyzers of what makes pods: Deployments, Jobs, autoscalers, budgets."""
