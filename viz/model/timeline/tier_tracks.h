// TierTracks: a replay over tiers as tracks over its virtual time: what each space holds, what
// moves between them, what the streams and links do and wait for. Each answers for any window in
// O(columns log spans).
//
// Immutable after it is built; any number of threads. Memory: about 40 bytes a span.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "replay/tiers/tier_run.h"
#include "viz/model/session/job.h"
#include "viz/model/timeline/busy_time.h"
#include "viz/model/timeline/level_pyramid.h"

namespace tidemark::viz {

// Direction of the bytes, as seen from the program: away from the GPUs, or back.
enum class Direction : std::uint8_t { down, up };

// Between which tiers.
enum class Passage : std::uint8_t {
    gpu_host,   // a GPU and a host
    gpu_disk,   // a GPU and a disk
    host_disk,  // a host and a disk
    sideways,   // two of a kind
};
constexpr std::size_t kPassages = 4;

// One move, or several that are too close to be seen one by one.
struct MoveGroup {
    Nanoseconds begin = 0;  // of the first
    Nanoseconds end = 0;    // the latest end
    std::size_t first = 0;  // an index among the moves of that kind
    std::size_t count = 0;
    Bytes bytes = 0;

    friend bool operator==(const MoveGroup&, const MoveGroup&) = default;
};

// Why a stream waited.
enum class StallCause : std::uint8_t { fetch, room, reservation };
constexpr std::size_t kStallCauses = 3;

std::string_view to_text(StallCause cause);  // "fetch", ...

// When all spaces of the tier together hold most, for the first time; 0 if they never hold
// anything. O(levels).
Nanoseconds peak_time(const TierRun& run, Tier tier);

class TierTracks {
  public:
    // Null if it was cancelled. O(spans log spans).
    static std::shared_ptr<const TierTracks> build(const TierRun& run, const Cancelled& cancelled);

    std::size_t spaces() const { return used_.size(); }  // as TierRun::spaces

    const LevelPyramid& used(std::size_t space) const { return used_[space]; }

    const LevelPyramid& reserved(std::size_t space) const { return reserved_[space]; }

    // Used bytes of all spaces of a tier together.
    const LevelPyramid& held(Tier tier) const { return held_[static_cast<std::size_t>(tier)]; }

    // Moves through a passage, joined by cells of `cell`. O(answer * log moves).
    std::vector<MoveGroup> moves(Passage passage, Direction direction, const Window& window,
                                 Position cell) const;

    std::size_t moved(Passage passage, Direction direction) const {
        return row(passage, direction).spans.size();
    }

    // The span behind MoveGroup::first. O(1).
    const TierSpan& move(Passage passage, Direction direction, std::size_t i) const {
        return row(passage, direction).spans[i];
    }

    // By stream; streams after the last that did anything are missing.
    const std::vector<BusyTime>& kernels() const { return kernels_; }

    const std::vector<BusyTime>& stalls(StallCause cause) const {
        return stalls_[static_cast<std::size_t>(cause)];
    }

    // By link, as TierRun::links.
    const std::vector<BusyTime>& links() const { return links_; }

  private:
    struct MoveRow {
        std::vector<TierSpan> spans;  // by start
        std::vector<Bytes> before;    // bytes of those before each, and of all
    };

    void take(const TierRun& run, const TierSpan& span);
    static void sum_up(MoveRow& moves);

    const MoveRow& row(Passage passage, Direction direction) const {
        return moves_[static_cast<std::size_t>(passage)][static_cast<std::size_t>(direction)];
    }

    std::vector<LevelPyramid> used_;
    std::vector<LevelPyramid> reserved_;
    std::array<LevelPyramid, kTierCount> held_;
    std::array<std::array<MoveRow, 2>, kPassages> moves_;
    std::vector<BusyTime> kernels_;
    std::array<std::vector<BusyTime>, kStallCauses> stalls_;
    std::vector<BusyTime> links_;
};

}  // namespace tidemark::viz
