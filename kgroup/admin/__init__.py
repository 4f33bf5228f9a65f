"""Groups, offsets and Marshal groups, seen and edited from outside."""
