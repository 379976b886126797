"""Which commands may run without a person."""
