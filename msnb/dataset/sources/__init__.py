"""Where rows come from: arrays, generators, image folders and the file formats of known data sets."""
