"""HTTP APIs that the user names: toolsets of ``type: http``."""
