"""How each framework compiles, differentiates and trains, for the programs of all cases."""
