"""Which pictures are worth a step: loss (what was seen), relevance (what each is worth), selection (what is drawn).

The three steps know nothing of each other; ``rules`` joins them to named rules, ``auto`` picks a rule by what the data
has, ``order`` is what the training loop asks for batches, ``loader`` the DataLoader for loops of one's own. No network
is run here: whoever trains gives the losses.
"""
