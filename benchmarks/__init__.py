"""What the engine promises of its speed, as ratios measured in one run: `python -m benchmarks [NAME...]`."""
