"""The way of data into a model: which loops evaluate, over which loaders, of which data sets and transforms."""
