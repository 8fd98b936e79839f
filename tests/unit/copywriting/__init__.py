"""The copy grammar: golden scripts, properties that hold for any brief, and the parts one by one."""
