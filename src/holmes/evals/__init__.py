"""The evaluation framework."""
