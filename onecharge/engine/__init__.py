"""Holds what a service does at its boundaries, and lets it go on in any order that is asked for."""
