"""A model that is split over boxes is one thing: its parts start together, and none runs on without the others."""
