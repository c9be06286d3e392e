"""Running trials against an endpoint: over httpx, many at once, with a log that a killed run goes on from."""
