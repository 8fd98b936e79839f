"""Chinese, simplified and traditional: phrases, measure words, and the sentences that carry them."""
