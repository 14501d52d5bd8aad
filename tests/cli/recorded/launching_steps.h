// What a recorded program launches: kernels, copies, fills and graphs.
#pragma once

namespace tidemark::cuda {

void kernels();
void reload();
void copies();
void batches();
void mapped();
void graphs();
void two_threads();

}  // namespace tidemark::cuda
