"""Where alerts come from."""
