//! Nothing: what a PodDisruptionBudget and an Eviction must be is said in `policy.rules` alone.
