"""What the commands share: inputs, outputs, progress, checkpoints, provenance."""
