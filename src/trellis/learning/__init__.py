"""Shared parts of learners: training problems, the training loop, optimisers, checkpoints."""
