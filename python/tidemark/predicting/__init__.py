"""The parts of `tidemark.predict`: stubs of CUDA, descriptions of cards, and runs over them."""
