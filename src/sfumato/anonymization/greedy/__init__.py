"""The thesis' searches: Greedy, literal and closed, a beam, Partition, and Greedy guided by a model."""
