"""Tests of data selection: the rules by arithmetic, the orders and the loader by what they draw."""
