"""Why something is wrong, in words: an argument, the likely cause, the usual guard."""
