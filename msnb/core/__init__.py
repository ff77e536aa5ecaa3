"""The ground floor: types, tensors, context, errors, events and the slot that an engine fills.

Nothing here knows an operator, a graph or a device by name. Everything above leans on these few files:

    dtypes -> types -> tensor -> parameter          values and what is known of them before they exist
    slot                                            who runs an op right now (eager, capture, a graph transform)
    context, events, random, devices                the settings of a session
    errors, where                                   how a mistake is told, and where in the user's text it happened
"""
