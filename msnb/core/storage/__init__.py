"""How a tensor's value lies in memory: packed in a library's blocks, or shared with an array of the user."""
