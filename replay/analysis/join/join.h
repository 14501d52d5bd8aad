// join: joins two recordings of one process, its CUDA driver calls (`tidemark record`) and
// PyTorch's allocator (tidemark.torch). Everything that PyTorch holds must be memory that the
// driver allocated for it; the driver's other memory went to others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Memory that PyTorch holds by its own recording, and not by the driver's.
struct UnmatchedSegment {
    std::string_view why;  // a constant
    std::uint64_t address = 0;
    Bytes size = 0;
    Nanoseconds time = 0;  // when PyTorch got it; all times are since the driver's recording began
    std::uint8_t device = 0;
};

// What one driver function allocated on a device, for PyTorch or for others.
struct MemoryHolder {
    std::uint8_t device = 0;
    bool is_framework = false;
    bool is_host = false;  // host memory is a device behind the GPUs
    std::string call;
    std::array<Bytes, 2> bytes{};  // at each of RecordingJoin::peaks
};

// Who had a GPU's memory when PyTorch's recording ended.
struct CardAccount {
    std::uint8_t device = 0;
    Bytes used = 0;       // of all processes, as CUDA said then
    Bytes framework = 0;  // PyTorch's memory
    Bytes others = 0;     // what the driver allocated for others than PyTorch

    // Contexts, the code and stacks of kernels, and other processes: no call allocates these.
    Bytes rest() const { return used - std::min(used, framework + others); }
};

struct RecordingJoin {
    std::uint32_t process = 0;
    std::vector<std::string> devices;  // of the driver's recording
    std::uint64_t segments = 0;        // segments and mappings of PyTorch; the sum of the next four
    std::uint64_t matched = 0;         // exactly what the driver allocated
    std::uint64_t inside = 0;          // part of more: of pools with an allocator of their own
    std::uint64_t undecided = 0;       // outside what the driver's recording knows
    std::vector<UnmatchedSegment> unmatched;  // none, if both recorders are right
    std::uint64_t lost_events = 0;            // of both recordings
    // When PyTorch held most, and when the process did, on all GPUs together.
    std::array<Nanoseconds, 2> peaks{};
    std::vector<MemoryHolder> holders;  // by device, PyTorch first
    std::vector<CardAccount> cards;     // by device; none if PyTorch's recording doesn't say

    // On all GPUs, of others than PyTorch, at one of `peaks`.
    Bytes outside(std::size_t peak) const;
};

// Whether both are recordings (.tml) of one process, which may be of different levels.
bool are_of_one_process(const std::string& path, const std::string& other);

// Errors: io, bad_input. O(n log n) of the ranges of both; memory O(ranges).
Result<RecordingJoin> join_recordings(const std::string& driver, const std::string& framework);

}  // namespace tidemark
