"""Pure functions: objects, events and logs in, findings out."""
