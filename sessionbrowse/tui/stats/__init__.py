"""The statistics: what all sessions cost, as a chart and as tables."""
