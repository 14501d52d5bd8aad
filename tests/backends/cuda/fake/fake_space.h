// What lies behind the fake's addresses: one span of the process's own address space, in which
// every device address lies, and files in memory that are mapped there. Two mappings of one piece
// of a file are the same bytes, as two mappings of a handle are on a GPU.
//
// Not thread-safe: the fake's lock is held by whoever calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tidemark::fake {

// A span of addresses cut into ranges, lowest first. O(gaps) a take, O(log ranges) a give.
class Space {
  public:
    Space() = default;

    Space(std::uint64_t begin, std::uint64_t size) : begin_(begin), size_(size) {
        if (size != 0)
            gaps_.emplace(begin, size);
    }

    // `size` is not 0, `alignment` a power of two.
    std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);

    // That very range, if all of it is free.
    bool take_at(std::uint64_t begin, std::uint64_t size);

    // The size of the range that began there, which is free from now on; 0 if none did.
    std::uint64_t give(std::uint64_t begin);

    bool covers(std::uint64_t address) const {
        return address >= begin_ && address - begin_ < size_;
    }

    bool empty() const { return taken_.empty(); }

    // begin -> size
    const std::map<std::uint64_t, std::uint64_t>& taken() const { return taken_; }

  private:
    void cut(std::map<std::uint64_t, std::uint64_t>::iterator gap, std::uint64_t begin,
             std::uint64_t size);

    std::uint64_t begin_ = 0;
    std::uint64_t size_ = 0;
    std::map<std::uint64_t, std::uint64_t> gaps_;
    std::map<std::uint64_t, std::uint64_t> taken_;
};

// A file in memory, as large as one likes: only what is written costs.
class Backing {
  public:
    Backing() = default;
    Backing(const Backing&) = delete;
    Backing& operator=(const Backing&) = delete;

    Backing(Backing&& other) noexcept : file_(other.file_), end_(other.end_) { other.file_ = -1; }

    Backing& operator=(Backing&& other) noexcept;

    // Takes over an open file.
    explicit Backing(int file) : file_(file) {}

    ~Backing();

    // Of `size` bytes.
    static Backing make(std::uint64_t size = std::uint64_t{1} << 50);

    int file() const { return file_; }

    // A piece nobody has had: where it begins.
    std::uint64_t take(std::uint64_t size);

    // Its bytes are forgotten.
    void drop(std::uint64_t offset, std::uint64_t size);

  private:
    int file_ = -1;
    std::uint64_t end_ = 0;
};

// The span of all device addresses: nothing there can be touched until it is backed.
class Arena {
  public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    ~Arena() { end(); }

    // Begins again with `size` bytes, or as many as the system gives.
    void begin(std::uint64_t size);

    bool covers(std::uint64_t address) const { return space_.covers(address); }

    Space& space() { return space_; }

    // Puts a piece of a file there; false if the system refuses. Page-aligned.
    bool back(std::uint64_t address, std::uint64_t size, const Backing& backing,
              std::uint64_t offset);

    // Takes it away again.
    void unback(std::uint64_t address, std::uint64_t size);

  private:
    void end();

    std::uint64_t begin_ = 0;
    std::uint64_t size_ = 0;
    Space space_;
};

}  // namespace tidemark::fake
