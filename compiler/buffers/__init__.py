"""Where every value lies in memory: aliases, live ranges, launch order, offsets in one arena."""
