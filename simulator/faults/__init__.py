"""What can go wrong at a provider: one file per fault, its name the fault's name."""
