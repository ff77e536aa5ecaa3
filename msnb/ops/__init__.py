"""Operations: one record each, in families; composites are functions of them."""
