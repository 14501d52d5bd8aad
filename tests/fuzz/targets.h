// Fuzz targets: each takes any bytes at all and aborts if the code behind it breaks a promise. The
// same functions run under libFuzzer (libfuzzer/main.cpp) and over the corpus in the ordinary
// tests (corpus_test.cpp).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tidemark::fuzz {

#define TIDEMARK_FUZZ_TARGET(name) void name(std::span<const std::byte> bytes);
#include "tests/fuzz/targets.inc"
#undef TIDEMARK_FUZZ_TARGET

struct Target {
    std::string_view name;
    void (*run)(std::span<const std::byte> bytes);
};

// All of targets.inc (targets.cpp).
std::span<const Target> all_targets();

// Makes checksums and the offset of the index in a damaged .tmk right again, as far as its blocks
// can be found, so that a fuzzer gets past them.
void repair_tmk(std::span<std::byte> file);

}  // namespace tidemark::fuzz
