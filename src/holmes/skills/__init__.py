"""Directions for the model, as SKILL.md."""
