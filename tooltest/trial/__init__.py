"""One trial: a conversation with mock tools, and what it is worth. Pure: requests come out, exchanges go in."""
