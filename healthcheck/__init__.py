"""What an engine answers, and what that means."""
