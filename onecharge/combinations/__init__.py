"""Every single trouble, and every pair of them: combinations made, played, counted and shrunk."""
