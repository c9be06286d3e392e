"""The contract: what every answer of a server that calls tools must be, whatever the model thinks. Pure."""
