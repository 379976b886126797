"""SQL databases, read only."""
