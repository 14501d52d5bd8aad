// What the program finds when it reads the device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark::imagined {

// Writes to `to` what the program itself had put at `from`, if it is known; otherwise what the last
// kernel of this thread would most likely have written (see answer_of), which the witness may
// replace. Without the machine's lock: the witness is Python.
void answer_read(void* to, std::uint64_t from, std::size_t size);

}  // namespace tidemark::imagined
