"""The far end on a box: JSON calls over ssh, and the read-only status port."""
