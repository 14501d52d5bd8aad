"""What `tidemark.predict` is made of: the stubs of CUDA, the cards, and the run over them."""
