"""A small shop in a SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

SHOP = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, customer_id INTEGER REFERENCES customers (id));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, photo BLOB);
CREATE INDEX orders_item ON orders (item);
CREATE VIEW named_orders AS SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id;
INSERT INTO customers VALUES (1, 'ann', x'00ff'), (2, NULL, zeroblob(5000)), (3, 'NULL', NULL), (4, '', NULL);
INSERT INTO orders VALUES (1, 'tea', 1), (2, 'line one
line two', 1), (3, 'coffee', 2);
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The file."""
    path = tmp_path / "the shop.db"
    connection = sqlite3.connect(path)
    connection.executescript(SHOP)
    connection.close()
    return path
