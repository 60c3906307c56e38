"""Named as NVIDIA's package; see fake_cupti."""
