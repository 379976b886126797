"""The Kubernetes operator."""
