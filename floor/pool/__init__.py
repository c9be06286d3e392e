"""The service on each proxy box that turns verdicts and drains into the members of nginx's upstreams."""
