"""The scenarios: what is asked, with which tools, and what a model that calls tools does then. Data and its reading."""
