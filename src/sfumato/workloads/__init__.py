"""What analysts do with released data: new populations, other tasks, several synthetic files, new markets.

Each is a module of its own: `shift` (another population), `transfer` (another task), `market` (a plan in a
new market), `combination` (one conclusion from several synthetic files); the room
`features` puts tables on one footing. It takes tables, whoever released them, and knows no method.
"""
