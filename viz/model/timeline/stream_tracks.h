// StreamTracks: a track for each stream, in the order in which streams first had something: its
// members, by number. Memory: 4 bytes a member.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark::viz {

class StreamTracks {
  public:
    static constexpr std::size_t kMost = 64;  // further streams are left out

    std::size_t count() const { return tracks_.size(); }

    // StreamId.
    std::uint32_t stream(std::size_t track) const { return tracks_[track].stream; }

    const std::vector<std::uint32_t>& members(std::size_t track) const {
        return tracks_[track].members;
    }

    std::vector<std::uint32_t>& members(std::size_t track) { return tracks_[track].members; }

    // At the end of its stream's track. O(tracks).
    void add(std::uint32_t stream, std::size_t member) {
        auto track = std::ranges::find(tracks_, stream, &Members::stream);
        if (track == tracks_.end()) {
            if (tracks_.size() == kMost)
                return;
            track = tracks_.insert(track, {stream, {}});
        }
        track->members.push_back(static_cast<std::uint32_t>(member));
    }

  private:
    struct Members {
        std::uint32_t stream = 0;
        std::vector<std::uint32_t> members;
    };

    std::vector<Members> tracks_;
};

}  // namespace tidemark::viz
