"""What would have to happen, as steps. Pure: observation in, plan out."""
