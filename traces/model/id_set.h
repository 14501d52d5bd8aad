// IdSet: which ids have occurred. Ids that come in ascending order, as programs count them, cost
// nothing to keep: a set of intervals. Memory O(runs), O(1) for the id after the last one, O(log
// runs) otherwise. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace tidemark {

class IdSet {
  public:
    // Adds `id`; false if it was there.
    bool insert(std::uint64_t id) {
        if (last_ != runs_.end() && id > last_->second) {
            const bool next = id - last_->second == 1;
            const auto after = std::next(last_);
            if (next && (after == runs_.end() || after->first - id > 1)) {
                last_->second = id;
                return true;
            }
        }
        return insert_slow(id);
    }

    bool contains(std::uint64_t id) const {
        const auto after = runs_.upper_bound(id);
        return after != runs_.begin() && std::prev(after)->second >= id;
    }

    // The number of intervals.
    std::size_t runs() const { return runs_.size(); }

  private:
    using Runs = std::map<std::uint64_t, std::uint64_t>;  // first -> last, none touching another

    bool insert_slow(std::uint64_t id) {
        const auto after = runs_.upper_bound(id);
        const bool has_before = after != runs_.begin();
        const auto before = has_before ? std::prev(after) : runs_.end();
        if (has_before && before->second >= id)
            return false;
        const bool joins_before = has_before && id - before->second == 1;
        const bool joins_after = after != runs_.end() && after->first - id == 1;
        const std::uint64_t end = joins_after ? after->second : id;
        if (joins_after)
            runs_.erase(after);
        if (joins_before)
            before->second = end;
        last_ = joins_before ? before : runs_.emplace(id, end).first;
        return true;
    }

    Runs runs_;
    Runs::iterator last_ = runs_.end();  // the run that grew last
};

}  // namespace tidemark
