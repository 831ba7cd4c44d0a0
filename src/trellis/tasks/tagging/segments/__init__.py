"""Semi-Markov taggers: features of whole segments, in training and in decoding."""
