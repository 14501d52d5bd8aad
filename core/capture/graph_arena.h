// GraphArena: the memory of captured graphs, and whether it may be captured into.
//
// Everything that uses an arena shares its ownership: the session that captures, the graphs that
// hold its addresses, and blocks that escaped from a capture and are still live. Its memory is
// released with the last of them. Graphs that are declared never to run together
// (ArenaSharing::in_turn) may be captured into one arena: each starts at its base again, above live
// blocks that escaped from the others, so the arena is as large as the largest of them. An arena of
// one graph may be captured into again when that graph is gone; growing memory keeps its address,
// so a recapture may need more.
//
// One made by CaptureAllocator::make_arena is used under that allocator's lock, except for its end,
// which any thread may cause.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/result.h"
#include "core/capture/arena_memory.h"
#include "core/device/device.h"

namespace tidemark {

enum class ArenaSharing : std::uint8_t { one_graph, in_turn };

// Memory of arenas that are gone, which the device refused to take back (while it captures a graph,
// for example), and the memory of all arenas. Thread-safe.
class ArenaLedger {
  public:
    explicit ArenaLedger(Device& device) : device_(device) {}

    // As settle(); what the device refuses even now is lost.
    ~ArenaLedger();

    ArenaLedger(const ArenaLedger&) = delete;
    ArenaLedger& operator=(const ArenaLedger&) = delete;

    Device& device() { return device_; }

    // Waits for the device and releases memory, now or at a later settle().
    void give_back(ArenaMemory memory);

    // Offers again what the device refused to take.
    void settle();

    // An arena holds `gained` more; for less, the negative (it wraps).
    void count(Bytes gained);

    Bytes held() const;

    // The part of it that no longer belongs to an arena.
    Bytes left_over() const;

  private:
    bool release(ArenaMemory& memory);

    Device& device_;
    mutable std::mutex mutex_;
    std::vector<ArenaMemory> left_over_;
    Bytes held_ = 0;
};

class GraphArena {
  public:
    // With `size` bytes that are reserved now, or 0: growing. Errors (driver): the device's, as an
    // Error.
    static Result<std::shared_ptr<GraphArena>> make(std::shared_ptr<ArenaLedger> ledger, Bytes size,
                                                    ArenaSharing sharing);

    ~GraphArena();

    GraphArena(const GraphArena&) = delete;
    GraphArena& operator=(const GraphArena&) = delete;

    // A capture starts: returns where its first byte is. Errors (unsupported): another capture is
    // in progress in it, or a graph that may run at the same time holds its addresses.
    Result<Address> begin_capture();

    // It has ended; `graph` says whether it produced a graph, which holds the addresses from now
    // on.
    void end_capture(bool graph);

    // A graph that held its addresses is gone.
    void graph_gone() { --graphs_; }

    // Makes sure that the bytes up to `end` exist.
    DeviceResult<void> ensure(Address end);

    // A block that outlives its capture, and the end of such a block.
    void escaped(Range range) { escapes_.emplace(range.begin, range.size); }

    bool escape_ended(Address begin) { return escapes_.erase(begin) != 0; }

    Range range() const { return memory_.range(); }

    std::uint32_t graphs() const { return graphs_; }

    std::size_t live_escapes() const { return escapes_.size(); }

  private:
    GraphArena(std::shared_ptr<ArenaLedger> ledger, ArenaMemory memory, ArenaSharing sharing)
        : ledger_(std::move(ledger)), memory_(std::move(memory)), sharing_(sharing) {}

    std::shared_ptr<ArenaLedger> ledger_;
    ArenaMemory memory_;
    ArenaSharing sharing_;
    bool capturing_ = false;
    std::atomic<std::uint32_t> graphs_ = 0;
    std::map<Address, Bytes> escapes_;  // live ones
};

}  // namespace tidemark
