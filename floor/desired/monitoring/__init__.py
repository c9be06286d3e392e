"""What Prometheus and Grafana are given: whom to read, when to call somebody, and what to show. Pure."""
