"""``nn.probability``: distributions whose densities, moments and draws are programs, and bijectors between them."""

from msnb.nn.probability import bijector as bijector, distribution as distribution
