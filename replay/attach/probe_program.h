// The BPF program that the kernel runs when the watched process reaches a probe: it reads the
// arguments and puts a Hit into a ring that all probes share. Pure.
//
// It runs in the kernel, because only there one listener sees all threads of a process, including
// those that start later, and because the ring decides the order among them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <linux/bpf.h>

#include "replay/attach/probe_argument.h"

namespace tidemark::attach {

constexpr std::size_t kMostArguments = 4;

// An entry of the ring.
struct Hit {
    std::uint64_t time = 0;   // of the monotonic clock, ns
    std::uint64_t probe = 0;  // the number that its program was made with
    std::array<std::uint64_t, kMostArguments> values{};
};

// `ring` and `lost` are maps of the kernel: the ring, and an array of one 64-bit number, which
// counts the hits that found no room. At most kMostArguments.
std::vector<bpf_insn> probe_program(std::span<const ProbeArgument> arguments, std::uint32_t probe,
                                    int ring, int lost);

}  // namespace tidemark::attach
