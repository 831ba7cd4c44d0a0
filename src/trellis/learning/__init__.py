"""What learners share: the problem, the loop, optimisers, checkpoints."""
