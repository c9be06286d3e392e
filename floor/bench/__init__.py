"""Load with rising numbers of requests at once, and how many of them a copy should take."""
