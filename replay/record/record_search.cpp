// A straight replay if possible; else a search over what the record doesn't say.
#include "replay/record/record_search.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

constexpr std::size_t kStepsPerProgress = 1U << 16U;

// How many choices may be open, and how much work may be done in total, in steps of the record:
// short records may be searched often, long ones seldom.
constexpr std::size_t kMostOpen = 4'000;
constexpr std::size_t kMostOpenBytes = std::size_t{1} << 30U;
constexpr std::uint64_t kMostWork = 60'000'000;
constexpr std::uint64_t kMostRoundsOfShort = 5'000;
constexpr std::uint64_t kMostRoundsOfLong = 20;

// What a copy of the model costs, in steps: it has lists for each stream in each pool.
constexpr std::uint64_t kCopyWork = 300;
constexpr std::uint64_t kCopyWorkOfStream = 100;

// After so many contradictions that nothing explains the search gives up.
constexpr int kMostUnexplained = 8;

std::uint64_t most_work(std::uint64_t steps) {
    return std::min(kMostWork, kMostRoundsOfShort * steps) + kMostRoundsOfLong * steps;
}

DeviceFindings findings_of(const DeviceReplay& replay) {
    return {
        .found = replay.findings(), .stats = replay.allocator().stats(), .chosen = replay.chosen()};
}

using Progress = std::function<void(std::uint64_t)>;

DeviceFindings run_straight(DeviceReplay replay, bool until_differs, const Progress& progress) {
    while (!replay.at_end()) {
        if (replay.step() != 0 && until_differs)
            return findings_of(replay);
        if (progress && replay.position() % kStepsPerProgress == 0)
            progress(replay.position());
    }
    replay.finish();
    return findings_of(replay);
}

class Search {
  public:
    Search(DeviceReplay start, const DeviceRecord& record)
        : path_{std::move(start), 0},
          most_open_(std::min(kMostOpen, kMostOpenBytes / (path_.replay.copy_bytes() + 1) + 16)),
          copy_work_(kCopyWork + kCopyWorkOfStream * record.streams),
          work_left_(most_work(record.steps.size())) {}

    DeviceFindings run() {
        bool finished = false;
        while (!finished) {
            choose();
            finished = path_.replay.at_end();
            const std::uint64_t different = finished ? path_.replay.finish() : path_.replay.step();
            keep_fork();
            if (gives_up())
                continue;
            spend(1 + copy_work_ * path_.replay.copies());
            if (different == 0)
                continue;
            keep_if_furthest(finished);
            if (work_left_ != 0 && resume(path_.replay.suspects())) {
                finished = false;
                continue;
            }
            // Nothing explains it: it counts, and the model goes on with what it did.
            finished = furthest_finished_;
            path_ = std::move(*furthest_);
            furthest_.reset();
            ++unexplained_;
        }
        return findings_of(path_.replay);
    }

  private:
    // A replay so far, and the choice in which it differs from the one it was copied from.
    struct Path {
        DeviceReplay replay;
        std::uint32_t choice = 0;
    };

    bool gives_up() const { return unexplained_ >= kMostUnexplained || work_left_ == 0; }

    void spend(std::uint64_t work) { work_left_ -= std::min(work_left_, work); }

    // Follows the likelier possibility of each choice and keeps the others.
    void choose() {
        for (const std::uint32_t key : path_.replay.open_choices()) {
            for (const PoolChoice choice : {PoolChoice::own, PoolChoice::instead}) {
                if (gives_up())
                    break;
                Path other{path_.replay.copy(), key};
                other.replay.choose(key, choice);
                keep_open(std::move(other));
            }
            path_.replay.choose(key, PoolChoice::likelier);
        }
    }

    void keep_fork() {
        if (const std::unique_ptr<DeviceReplay> fork = path_.replay.take_fork();
            fork && !gives_up())
            keep_open({std::move(*fork), path_.replay.fork_choice()});
    }

    void keep_open(Path other) {
        spend(copy_work_);
        open_.push_back(std::move(other));
        if (open_.size() > most_open_)
            open_.erase(open_.begin());
    }

    void keep_if_furthest(bool finished) {
        if (furthest_ && furthest_->replay.position() >= path_.replay.position())
            return;
        furthest_ = Path{path_.replay.copy(), path_.choice};
        furthest_finished_ = finished;
    }

    // Goes back to the open choice that is most likely wrong: the latest about a segment of the
    // contradiction, or the latest of all.
    bool resume(const DeviceReplay::Suspects& suspects) {
        if (open_.empty())
            return false;
        const auto among = [](const std::vector<std::uint32_t>& choices, const Path& path) {
            return std::find(choices.begin(), choices.end(), path.choice) != choices.end();
        };
        const auto rank = [&](const Path& path) {
            const int suspicion =
                among(suspects.prime, path) ? 2 : (among(suspects.common, path) ? 1 : 0);
            return std::pair(suspicion, path.replay.position());
        };
        const auto best =
            std::max_element(open_.begin(), open_.end(),
                             [&rank](const Path& a, const Path& b) { return rank(a) < rank(b); });
        path_ = std::move(*best);
        open_.erase(best);
        return true;
    }

    Path path_;
    std::vector<Path> open_;
    std::size_t most_open_;
    std::optional<Path> furthest_;
    bool furthest_finished_ = false;
    std::uint64_t copy_work_;
    std::uint64_t work_left_;
    int unexplained_ = 0;
};

}  // namespace

Result<DeviceFindings> replay_straight(const DeviceRecord& record, const ModelSpec& spec,
                                       bool until_differs, const Progress& progress) {
    TM_ASSIGN(DeviceReplay plain, DeviceReplay::make(record, spec, {}));
    return run_straight(std::move(plain), until_differs, progress);
}

Result<DeviceFindings> search_record(DeviceRecord& record, const ModelSpec& spec) {
    if (record.life_of_request.empty())
        assume_pools(record);
    const Hypotheses hypotheses{
        .pools = record.has_unknown_pools || record.next_pool > 1,
        .switches = spec.switched && record.has_plain && record.has_pages,
    };
    TM_ASSIGN(DeviceReplay start, DeviceReplay::make(record, spec, hypotheses));
    DeviceFindings searched = Search(std::move(start), record).run();
    searched.hypotheses = hypotheses;
    searched.assumes_pools = true;
    return searched;
}

}  // namespace tidemark
