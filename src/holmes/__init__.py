"""Holmes: an SRE agent that shows its evidence."""

__version__ = "0.1.0"
