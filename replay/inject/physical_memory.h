// PhysicalMemory: memory that the program creates apart from addresses (cuMemCreate), and where it
// is mapped. It exists from its creation until it is released and no longer mapped anywhere;
// handles may be used again before that.
//
// Each piece gets its own address from kPhysicalBase upward, where no GPU has addresses, so that
// its bytes can be recorded once, wherever they are mapped. Memory that another process created
// gets one as well, when it is mapped; it isn't counted here.
//
// Thread-safe, under one lock: these calls take microseconds. O(log pieces).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/driver_api.h"

namespace tidemark::inject {

constexpr std::uint64_t kPhysicalBase = std::uint64_t{1} << 62U;

// For RecordKind::map: the memory is counted elsewhere, in another process.
constexpr std::uint64_t kElsewhere = kPhysicalBase - 1;

struct PhysicalPiece {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    std::uint8_t device = 0;
};

struct Mapping {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t home = 0;  // where its bytes are in the piece
    std::uint8_t device = 0;
};

class PhysicalMemory {
  public:
    PhysicalPiece create(cuda::CUmemHandle handle, std::uint64_t size, std::uint8_t device);

    // The mapping that now is at `address`; a handle that wasn't created here counts as one of
    // `device`.
    Mapping map(cuda::CUmemHandle handle, std::uint64_t address, std::uint64_t size,
                std::uint64_t offset, std::uint8_t device);

    // What was mapped in the range, which is nowhere mapped now. `ended`: gets the pieces that this
    // was the end of.
    std::vector<Mapping> unmap(std::uint64_t address, std::uint64_t size,
                               std::vector<PhysicalPiece>& ended);

    // One more reference, under this handle, to what is mapped at `address`.
    void retain(cuda::CUmemHandle handle, std::uint64_t address);

    // Before the driver releases the handle, which it may then give to others: the piece loses a
    // reference. Returns its base, or 0 if it isn't known.
    std::uint64_t begin_release(cuda::CUmemHandle handle);

    // It released it: the piece, if that was its end.
    std::optional<PhysicalPiece> end_release(std::uint64_t base);

    // It did not.
    void undo_release(cuda::CUmemHandle handle, std::uint64_t base);

  private:
    struct Piece {
        std::uint64_t size = 0;
        std::uint8_t device = 0;
        bool foreign = false;  // another process created it
        unsigned references = 1;
        unsigned mappings = 0;
    };

    struct Target {
        std::uint64_t size = 0;
        std::uint64_t base = 0;
        std::uint64_t offset = 0;
    };

    std::uint64_t add(const Piece& piece, std::uint64_t span);
    std::optional<PhysicalPiece> settle(std::uint64_t base);

    std::mutex mutex_;
    std::map<cuda::CUmemHandle, std::uint64_t> bases_;
    std::map<std::uint64_t, Piece> pieces_;     // by base
    std::map<std::uint64_t, Target> mappings_;  // by address
    std::uint64_t next_base_ = kPhysicalBase;
};

}  // namespace tidemark::inject
