"""Fitting what speculation needs: lenses now, heads and students beside them."""
