"""Exploring a service within a budget, and what is done about the first violation."""
