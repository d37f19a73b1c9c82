"""The provider as a pure machine: no I/O, no clock, no ids of its own."""
