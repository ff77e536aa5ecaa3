"""The methods bound to Tensor."""
