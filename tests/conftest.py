"""How hypothesis searches in every test file; where real data are found is in data.py."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rspca", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("rspca")
