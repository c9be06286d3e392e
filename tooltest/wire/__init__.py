"""What went over the wire, as bytes that were recorded, and how a strict client reads them. Pure."""
