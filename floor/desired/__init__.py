"""Config and mode in, every file and unit of every box out. Pure."""
