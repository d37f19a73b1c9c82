"""How providers speak: one file per provider, its name the dialect's name."""
