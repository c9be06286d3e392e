"""How an engine is launched, told to stop, what headers it wants, and what it logs. Pure: nothing is run here."""
