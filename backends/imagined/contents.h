// What is known of the bytes on the imagined devices: those that the program itself put there.
//
// Kernels do nothing, so what they would have written is not known. A copy from the host and a fill
// are remembered, up to a size; a block that is handed out anew is forgotten, because only kernels
// can have written it since. Not thread-safe. O(log pieces) a call, and O(bytes) of what is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tidemark::imagined {

class Contents {
  public:
    static constexpr std::size_t kLargest = std::size_t{4} << 20;  // what is larger isn't kept
    static constexpr std::size_t kMost = std::size_t{256} << 20;   // of all pieces together

    void write(std::uint64_t at, std::span<const std::byte> bytes);
    void fill(std::uint64_t at, std::byte value, std::size_t size);
    void copy(std::uint64_t to, std::uint64_t from, std::size_t size);
    void forget(std::uint64_t at, std::size_t size);

    // Are all bytes of the range known? Then they are put into `bytes`.
    bool read(std::uint64_t at, std::span<std::byte> bytes) const;

  private:
    std::map<std::uint64_t, std::vector<std::byte>> pieces_;  // by their first address
    std::size_t held_ = 0;
};

}  // namespace tidemark::imagined
