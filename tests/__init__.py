"""Every test, by what it needs: values, fakes, real components, a running system."""
