// NumaHost: host memory on a node of one's choice.
//
// Pages are taken from the kernel, preferred on the node, filled, and then looked for: a buffer
// lies on its node to the last page, or there is none. (Bound strictly, a node without free memory
// would end the process instead.) On a computer with one node every page is on it, and nothing is
// needed; with several, libnuma is (numa_library.h).
//
// Thread-safe. Allocation is O(pages): the kernel clears each.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "backends/numa/numa_library.h"
#include "backends/numa/numa_nodes.h"

namespace tidemark {

// Pages of one node, given back with the value.
class NumaPages {
  public:
    NumaPages() = default;
    NumaPages(NumaPages&& other) noexcept;
    NumaPages& operator=(NumaPages&& other) noexcept;
    ~NumaPages();

    // Zeroes at first; as long as was asked for.
    std::span<std::byte> bytes() const { return bytes_; }

    unsigned node() const { return node_; }

  private:
    friend class NumaHost;

    NumaPages(std::span<std::byte> bytes, unsigned node) : bytes_(bytes), node_(node) {}

    std::span<std::byte> bytes_;
    unsigned node_ = 0;
};

class NumaHost {
  public:
    // This computer.
    static NumaHost open();

    // `root` stands for "/" (sys_files.h); `calls` as load_numa gives them, or why it does not.
    NumaHost(std::string root, Result<NumaCalls> calls);

    // As they were when the host was opened.
    const HostNodes& nodes() const { return nodes_; }

    // Why pages cannot be placed here; nothing if they can.
    std::optional<Error> obstacle() const;

    // Errors: not_found: no such node. bad_option: no bytes. unsupported: as `obstacle`. driver:
    // the node has too little memory (asked anew), or the kernel put pages elsewhere.
    Result<NumaPages> allocate(Bytes size, unsigned node) const;

    // The node on which the page at `address` lies; without libnuma the only node there is,
    // whatever is at the address. Errors: not_found: no page of this process, or nothing was ever
    // written to it; unsupported: as `obstacle`; driver: the kernel refuses.
    Result<unsigned> where_is(const void* address) const;

  private:
    bool single() const { return nodes_.nodes.size() == 1; }

    Result<void> check_room(Bytes size, unsigned node) const;
    Result<void> bind_to(std::span<std::byte> bytes, unsigned node) const;
    Result<void> check_node(std::span<std::byte> bytes, unsigned node) const;

    std::string root_;
    HostNodes nodes_;
    Result<NumaCalls> calls_;
};

}  // namespace tidemark
