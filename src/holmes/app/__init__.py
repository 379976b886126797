"""Configuration to engine, and what is built on engines."""
