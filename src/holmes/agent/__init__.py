"""The loop and what keeps it honest."""
