"""Values of variables, known and unknown."""
