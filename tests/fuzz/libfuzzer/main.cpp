// The door for libFuzzer: one program per target, which CMake names in TIDEMARK_FUZZ_NAME.
#include <cstdint>
#include <span>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tidemark::fuzz::TIDEMARK_FUZZ_NAME(std::as_bytes(std::span(data, size)));
    return 0;
}

#ifdef TIDEMARK_FUZZ_REPAIR
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Seven in eight mutants get their checksums repaired: the others show what wrong ones do.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    const std::size_t mutated = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 != 0)
        tidemark::fuzz::repair_tmk(std::as_writable_bytes(std::span(data, mutated)));
    return mutated;
}
#endif
