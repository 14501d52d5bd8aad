// What the program finds where it reads the device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark::imagined {

// Puts into `to` what the program itself had put at `from`, if it is known; else what the last
// kernel of this thread would most likely have left (see answer_of), which the witness may replace.
// Without the machine's lock: the witness is Python.
void answer_read(void* to, std::uint64_t from, std::size_t size);

}  // namespace tidemark::imagined
