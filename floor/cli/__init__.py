"""The command line: flags to one operation to print."""
