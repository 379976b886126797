"""The command policy: which shell commands of a model run unasked, which need a person, which never run."""
