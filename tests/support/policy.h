// What tests of policies share: a small simulated device on which work takes time, and the few
// steps that every test begins with. A step that fails fails the test.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backends/sim/costs.h"
#include "backends/sim/sim_device.h"
#include "core/allocator/allocator.h"

namespace tidemark::support {

// Calls cost nothing, but work that is queued takes a nanosecond a byte: whoever does not wait is
// too early.
const CostProfile& slow_work();

// A device of that capacity, in pages of 2 MiB, with slow_work().
SimConfig small_device(Bytes capacity);

// The policies of the catalogue that serve requests of any size from little memory: not those that
// begin with much memory, or with much in small blocks.
std::vector<PolicyInfo> general_policies();

// The policy of that text ("bump:segment=2MiB") on `device`.
std::unique_ptr<Allocator> make_policy(std::string_view text, Device& device);

Allocation must_allocate(Allocator& allocator, Bytes size,
                         StreamId stream = StreamId::default_stream);

// Why a request of `size` is refused; it must be.
OutOfMemory must_refuse(Allocator& allocator, Bytes size);

std::vector<Region> regions_of(const Allocator& allocator);

// How often `call` was made so far.
std::uint64_t calls(const Device& device, DeviceCall call);

}  // namespace tidemark::support
