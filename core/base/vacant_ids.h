// VacantIds: numbers for live things, kept as dense as possible: a number that is returned is
// vacant again. Depends only on the calls. Memory O(vacant). Not thread-safe; O(1) each.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tidemark {

class VacantIds {
  public:
    // The number that was returned last, or the next one that was never used.
    std::uint32_t take() {
        if (vacant_.empty())
            return count_++;
        const std::uint32_t id = vacant_.back();
        vacant_.pop_back();
        return id;
    }

    // Takes a number and stores `entry` there in `table`, which has an entry for each number used
    // so far and is extended only by this function. Amortised O(1).
    template <class Entry>
    std::uint32_t put_into(std::vector<Entry>& table, Entry entry) {
        const std::uint32_t id = take();
        if (id == table.size())
            table.push_back(std::move(entry));
        else
            table[id] = std::move(entry);
        return id;
    }

    // The same with a new entry, which the caller fills in place. For code that runs at every
    // event: copying an entry that has just been filled elsewhere reads it in wider pieces than it
    // was written in, which waits for the writes (1 to 2 ns).
    template <class Entry>
    std::uint32_t put_new_into(std::vector<Entry>& table) {
        const std::uint32_t id = take();
        if (id == table.size())
            table.emplace_back();
        else
            table[id] = Entry{};
        return id;
    }

    // A number that was taken and not returned since.
    void give_back(std::uint32_t id) { vacant_.push_back(id); }

    // Every number used so far is below this.
    std::uint32_t count() const { return count_; }

    // Numbers that were taken and not returned since.
    std::size_t in_use() const { return count_ - vacant_.size(); }

  private:
    std::vector<std::uint32_t> vacant_;
    std::uint32_t count_ = 0;
};

}  // namespace tidemark
