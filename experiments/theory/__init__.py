"""Theory: the bounds on the step size, the O(1/T) rate, and what the theorem asks for."""
