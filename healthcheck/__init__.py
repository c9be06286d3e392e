"""What an engine answers, and what that means.

`python -m floor.healthcheck URL` asks one backend. Inside floor the parts are used one by one:
`probe` asks, `judge` decides (pure), `check` does both once, `client` makes the HTTP client for it.
"""
