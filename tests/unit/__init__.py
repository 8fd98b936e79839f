"""Rules and use cases, on values and fakes; no file of ours, no network, no model."""
