"""What fits where: cache arithmetic, speed, stretches, and which layout. Pure."""
