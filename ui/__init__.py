"""The page: reads events, never tensors."""
