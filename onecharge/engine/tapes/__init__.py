"""What is chosen in a run: by whom, on which tape, and how a long tape becomes a short one."""
