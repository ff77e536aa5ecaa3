"""The intermediate representation that both engines write and every tool reads."""
