"""The statistics screen: the cost of sessions as a chart and as tables."""
