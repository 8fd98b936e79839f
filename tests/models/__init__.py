"""Models on real components and small inputs; expected values come from outside the code."""
