"""The service that reads the metrics of every copy and serves one page: each copy, and what they come to together."""
