// NumaHost: host memory on a chosen node.
//
// Pages are requested from the kernel, preferably on the node, filled, and then checked: a buffer
// is on its node to the last page, or it isn't returned. (With strict binding, a node without free
// memory would end the process instead.) On a computer with one node every page is on it, and
// nothing else is needed; with several, libnuma is needed (numa_library.h).
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

// Pages of one node, freed with the value.
class NumaPages {
  public:
    NumaPages() = default;
    NumaPages(NumaPages&& other) noexcept;
    NumaPages& operator=(NumaPages&& other) noexcept;
    ~NumaPages();

    // Zeroes at first; of the requested length.
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

    // `root` is used instead of "/" (sys_files.h); `calls` is the result of load_numa, or its
    // error.
    NumaHost(std::string root, Result<NumaCalls> calls);

    // As they were when the host was opened.
    const HostNodes& nodes() const { return nodes_; }

    // Why pages cannot be placed here; nothing if they can.
    std::optional<Error> obstacle() const;

    // Errors: not_found: no such node. bad_option: no bytes. unsupported: as `obstacle`. driver:
    // the node has too little memory (checked again), or the kernel put pages elsewhere.
    Result<NumaPages> allocate(Bytes size, unsigned node) const;

    // The node of the page at `address`; without libnuma the only node, whatever is at the address.
    // Errors: not_found: no page of this process, or nothing was ever written to it; unsupported:
    // as `obstacle`; driver: the kernel refuses.
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
