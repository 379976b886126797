"""Language models: one protocol, several wires."""
