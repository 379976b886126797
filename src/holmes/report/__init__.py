"""Reports as text, Markdown, JSON and HTML."""
