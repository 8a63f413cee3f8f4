"""The model of tokens and money: paid requests, which of them are the same one, and sums that add up exactly."""
