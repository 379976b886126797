"""Web pages, fetched through the egress guard."""
