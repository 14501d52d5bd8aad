// GraphArena: the memory of captured graphs, and whether it may be captured into.
//
// Whoever uses an arena shares its ownership: the session that captures, the graphs that hold its
// addresses, and what escaped from a capture and is still alive. Its memory goes back with the last
// of them. Graphs that are declared never to run together (ArenaSharing::in_turn) may be captured
// into one arena: each begins at its base again, above what escaped from the others and lives, so
// the arena is as large as the largest of them. An arena of one graph may be captured into again
// when that graph is gone; growing memory keeps its address, so a recapture may need more.
//
// One made by CaptureAllocator::make_arena is used under that allocator's lock, but for its end,
// which any thread may bring about.
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

// Memory of arenas that are gone, as far as the device refused to take it (while it captures a
// graph, say), and what all arenas hold. Thread-safe.
class ArenaLedger {
  public:
    explicit ArenaLedger(Device& device) : device_(device) {}

    // As settle(); what the device refuses even now is lost.
    ~ArenaLedger();

    ArenaLedger(const ArenaLedger&) = delete;
    ArenaLedger& operator=(const ArenaLedger&) = delete;

    Device& device() { return device_; }

    // Waits for the device and gives memory back, now or at a later settle().
    void give_back(ArenaMemory memory);

    // Tries again what the device refused.
    void settle();

    // An arena holds `gained` more; of less, the negative (it wraps).
    void count(Bytes gained);

    Bytes held() const;

    // Of it, what belongs to no arena any more.
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
    // Of `size` bytes that are taken now, or of 0: growing. Errors (driver): the device's, worded.
    static Result<std::shared_ptr<GraphArena>> make(std::shared_ptr<ArenaLedger> ledger, Bytes size,
                                                    ArenaSharing sharing);

    ~GraphArena();

    GraphArena(const GraphArena&) = delete;
    GraphArena& operator=(const GraphArena&) = delete;

    // A capture begins: where its first byte is. Errors (unsupported): another capture is under way
    // in it, or a graph that may run at the same time holds its addresses.
    Result<Address> begin_capture();

    // It has ended; `graph` says whether a graph came of it, which holds the addresses from now on.
    void end_capture(bool graph);

    // A graph that held its addresses is gone.
    void graph_gone() { --graphs_; }

    // Sees to it that the bytes up to `end` are there.
    DeviceResult<void> ensure(Address end);

    // What outlives its capture, and the end of that.
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
    std::map<Address, Bytes> escapes_;  // that live
};

}  // namespace tidemark
