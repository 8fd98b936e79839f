"""English: what kind of phrase a fact is, and the sentences that phrases of each kind fit into."""
