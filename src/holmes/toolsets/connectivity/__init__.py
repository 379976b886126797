"""Whether a TCP connection can be made."""
