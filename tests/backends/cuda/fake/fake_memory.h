// The fake's memory: taking address space and bytes for it, and what may be touched.
#pragma once

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// Counts `size` bytes of a device's memory as used; false when there are not as many.
bool charge(int device, std::uint64_t size);
void refund(int device, std::uint64_t size);

// Plain memory, as cuMemAlloc gives it: 0 when there is none.
std::uint64_t take_plain(int device, std::uint64_t size);
void give_plain(std::uint64_t address);

// Memory of a pool, and bytes for a graph's block whose address is taken; 0, false: there are none.
constexpr std::uint64_t kPoolUnit = std::uint64_t{64} << 10;
std::uint64_t take_pooled(Span::Kind kind, int device, std::uint64_t size);
bool back_graph_block(std::uint64_t address, const GraphBlock& block);

// Addresses for all of the span's physical memory; 0 when there is no room.
std::uint64_t take_span(Span span, std::uint64_t alignment);
void give_span(std::uint64_t address);

// May kernels and copies of `device` (-1: of any) read or write all of the range? Memory that is no
// device's is the program's own, and can be copied.
bool reachable(std::uint64_t address, std::uint64_t size, bool write, int device);

// The span that an address lies in, or null.
const std::pair<const std::uint64_t, Span>* find_span(std::uint64_t address);

}  // namespace tidemark::fake
