"""What goes wrong around nacre, made to go wrong: `make faults`. Nothing here is installed."""
