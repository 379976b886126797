"""Data sources, each a folder or one YAML file with a manifest."""
