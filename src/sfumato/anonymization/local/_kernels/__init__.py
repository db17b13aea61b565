"""The loops of the local searches, one module a topic; imported only when something is searched."""
