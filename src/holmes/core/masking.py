"""Secrets leave no tool result, question, error or argument: they become placeholders here."""
