"""How floor reaches a box, and how floor itself gets there."""
