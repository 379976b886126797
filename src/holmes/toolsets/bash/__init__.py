"""Shell commands, judged by the command policy."""
