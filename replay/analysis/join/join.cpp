// PyTorch's segments laid over the driver's ranges, by address and time.
#include "replay/analysis/join/join.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "replay/analysis/join/recorded_memory.h"
#include "traces/live/recording_file.h"
#include "traces/model/trace.h"

namespace tidemark {
namespace {

// Each recorder reads the processor's counter along a line of its own.
constexpr Nanoseconds kClockError = 1'000'000;

class Join {
  public:
    Join(const RecordedMemory& driver, const RecordedMemory& framework)
        : driver_(driver),
          framework_(framework),
          taken_(driver.ranges.size()),
          is_framework_(driver.ranges.size()) {
        for (std::size_t i = 0; i < driver.ranges.size(); ++i) {
            const RecordedRange& range = driver.ranges[i];
            by_address_[range.address].push_back(i);
            if (range.address >= kNoGpuAddress)
                pieces_[range.address] = i;
        }
    }

    RecordingJoin join() {
        result_.process = driver_.header.process;
        result_.lost_events = driver_.lost + framework_.lost;
        for (std::uint32_t i = 0; i < driver_.header.devices; ++i)
            result_.devices.push_back(live::text_of(driver_.header.device[i].name));
        for (const RecordedRange& segment : framework_.ranges) {
            if (segment.home == 0)
                match(segment);
        }
        find_peaks();
        find_holders();
        find_cards();
        return std::move(result_);
    }

  private:
    // Physical memory and arrays have addresses from here on (replay/inject).
    static constexpr std::uint64_t kNoGpuAddress = std::uint64_t{1} << 61U;

    void match(const RecordedRange& segment) {
        ++result_.segments;
        const std::vector<std::size_t> parts = parts_of(segment);
        if (!parts.empty()) {
            for (const std::size_t part : parts) {
                taken_[part] = true;
                give_to_framework(part);
            }
            if (is_gone(segment, parts))
                return fail(segment, "the driver freed it before PyTorch released it");
            ++result_.matched;
        } else if (const auto around = find_around(segment)) {
            give_to_framework(*around);
            ++result_.inside;
        } else {
            fail(segment, "the driver allocated nothing of that size there");
        }
    }

    void fail(const RecordedRange& segment, std::string_view why) {
        if (segment.begin < driver_.first || segment.begin > driver_.last ||
            result_.lost_events != 0)
            ++result_.undecided;
        else
            result_.unmatched.push_back({.why = why,
                                         .address = segment.address,
                                         .size = segment.size,
                                         .time = segment.begin - driver_.start,
                                         .device = segment.device});
    }

    // The ranges that together are the segment; none if these aren't.
    std::vector<std::size_t> parts_of(const RecordedRange& segment) const {
        std::vector<std::size_t> parts;
        for (std::uint64_t done = 0; done < segment.size;) {
            const auto part = find(segment.address + done, segment.begin);
            if (!part || driver_.ranges[*part].device != segment.device ||
                driver_.ranges[*part].size > segment.size - done)
                return {};
            parts.push_back(*part);
            done += driver_.ranges[*part].size;
        }
        return parts;
    }

    // The range that starts at `address` and existed at `time`, or within the error of the clocks.
    std::optional<std::size_t> find(std::uint64_t address, Nanoseconds time) const {
        const auto found = by_address_.find(address);
        if (found == by_address_.end())
            return std::nullopt;
        const std::vector<std::size_t>& same = found->second;
        auto each = std::ranges::upper_bound(same, time + kClockError, {}, [&](std::size_t index) {
            return driver_.ranges[index].begin;
        });
        std::optional<std::size_t> near;
        while (each != same.begin()) {
            const RecordedRange& range = driver_.ranges[*--each];
            if (range.end < time - kClockError)
                break;
            if (taken_[*each])
                continue;
            near = *each;
            if (range.begin <= time && time <= range.end)
                break;
        }
        return near;
    }

    // A pool of the program may have its own allocator, which allocates more at once. O(ranges).
    std::optional<std::size_t> find_around(const RecordedRange& segment) const {
        if (segment.pool == 0)
            return std::nullopt;
        const auto found = std::ranges::find_if(driver_.ranges, [&](const RecordedRange& range) {
            return range.device == segment.device && range.address <= segment.address &&
                   segment.address + segment.size <= range.address + range.size &&
                   range.begin <= segment.begin && segment.begin <= range.end;
        });
        if (found == driver_.ranges.end())
            return std::nullopt;
        return static_cast<std::size_t>(found - driver_.ranges.begin());
    }

    // A mapping is undone before PyTorch reports it, by as much as the thread was delayed: the end
    // is compared only for memory that PyTorch never released.
    bool is_gone(const RecordedRange& segment, const std::vector<std::size_t>& parts) const {
        return segment.end == RecordedRange::kNever &&
               std::ranges::any_of(parts, [&](std::size_t part) {
                   return driver_.ranges[part].end < framework_.last - kClockError;
               });
    }

    void give_to_framework(std::size_t index) {
        const RecordedRange& range = driver_.ranges[index];
        if (!range.is_mapping) {
            is_framework_[index] = true;
            return;
        }
        const auto after = pieces_.upper_bound(range.home);
        if (after == pieces_.begin())
            return;
        const std::size_t piece = std::prev(after)->second;
        if (range.home - driver_.ranges[piece].address < driver_.ranges[piece].size)
            is_framework_[piece] = true;
    }

    bool is_host(const RecordedRange& range) const {
        return result_.devices[range.device] == kHostMemory;
    }

    void find_peaks() {
        struct Change {
            Nanoseconds time;
            bool begins;
            bool is_framework;
            Bytes bytes;
        };

        std::vector<Change> changes;
        for (std::size_t i = 0; i < driver_.ranges.size(); ++i) {
            const RecordedRange& range = driver_.ranges[i];
            if (range.is_mapping || is_host(range))
                continue;
            changes.push_back({range.begin, true, is_framework_[i], range.size});
            changes.push_back({range.end, false, is_framework_[i], range.size});
        }
        std::ranges::sort(changes, {}, [](const Change& change) {
            return std::tuple(change.time, change.begins);
        });
        std::array<Bytes, 2> held{};
        std::array<Bytes, 2> most{};
        for (const Change& change : changes) {
            const Bytes bytes = change.begins ? change.bytes : 0 - change.bytes;
            held[0] += change.is_framework ? bytes : 0;
            held[1] += bytes;
            for (std::size_t i = 0; i < held.size(); ++i) {
                if (held[i] > most[i]) {
                    most[i] = held[i];
                    result_.peaks[i] = change.time;
                }
            }
        }
    }

    void find_holders() {
        std::map<std::tuple<std::uint8_t, bool, std::uint32_t>, MemoryHolder> holders;
        for (std::size_t i = 0; i < driver_.ranges.size(); ++i) {
            const RecordedRange& range = driver_.ranges[i];
            if (range.is_mapping)
                continue;
            MemoryHolder& holder = holders[{range.device, !is_framework_[i], range.tag}];
            holder.device = range.device;
            holder.is_framework = is_framework_[i];
            holder.is_host = is_host(range);
            holder.call = driver_.strings[range.tag];
            for (std::size_t at = 0; at < holder.bytes.size(); ++at) {
                if (range.begin <= result_.peaks[at] && result_.peaks[at] < range.end)
                    holder.bytes[at] += range.size;
            }
        }
        for (const auto& [key, holder] : holders) {
            if (holder.bytes != std::array<Bytes, 2>{})
                result_.holders.push_back(holder);
        }
        for (Nanoseconds& peak : result_.peaks)
            peak = std::max<Nanoseconds>(peak - driver_.start, 0);
    }

    void find_cards() {
        for (const auto& [device, used] : framework_.used) {
            CardAccount card{.device = device, .used = used, .framework = 0, .others = 0};
            for (std::size_t i = 0; i < driver_.ranges.size(); ++i) {
                const RecordedRange& range = driver_.ranges[i];
                if (range.is_mapping || range.device != device || is_host(range) ||
                    range.begin > framework_.last || range.end <= framework_.last)
                    continue;
                (is_framework_[i] ? card.framework : card.others) += range.size;
            }
            if (device < result_.devices.size())
                result_.cards.push_back(card);
        }
    }

    const RecordedMemory& driver_;
    const RecordedMemory& framework_;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_address_;  // in order of begin
    std::map<std::uint64_t, std::size_t> pieces_;  // by address; none is used twice
    std::vector<bool> taken_;                      // a segment is this range
    std::vector<bool> is_framework_;               // of memory: some of it is PyTorch's
    RecordingJoin result_;
};

}  // namespace

Bytes RecordingJoin::outside(std::size_t peak) const {
    Bytes sum = 0;
    for (const MemoryHolder& holder : holders)
        sum += holder.is_framework || holder.is_host ? 0 : holder.bytes[peak];
    return sum;
}

bool are_of_one_process(const std::string& path, const std::string& other) {
    const auto one = live::RecordingFile::open(path, live::Owner::anyone);
    const auto two = live::RecordingFile::open(other, live::Owner::anyone);
    return one && two && one->header().process == two->header().process &&
           one->header().process_start == two->header().process_start &&
           one->header().session != two->header().session;
}

Result<RecordingJoin> join_recordings(const std::string& driver, const std::string& framework) {
    TM_ASSIGN(const RecordedMemory calls, read_recorded_memory(driver, RecordedLevel::driver));
    TM_ASSIGN(const RecordedMemory segments,
              read_recorded_memory(framework, RecordedLevel::framework));
    return Join(calls, segments).join();
}

}  // namespace tidemark
