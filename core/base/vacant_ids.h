// VacantIds: numbers for what lives, as dense as its number allows: a number is vacant again when
// it is given back. A function of the calls alone. Memory O(vacant). Not thread-safe; O(1) each.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tidemark {

class VacantIds {
  public:
    // The number that was given back last, or the next one that was never given.
    std::uint32_t take() {
        if (vacant_.empty())
            return count_++;
        const std::uint32_t id = vacant_.back();
        vacant_.pop_back();
        return id;
    }

    // Takes a number and puts `entry` there in `table`, which has an entry for each number given so
    // far and gets them by this function alone. Amortised O(1).
    template <class Entry>
    std::uint32_t put_into(std::vector<Entry>& table, Entry entry) {
        const std::uint32_t id = take();
        if (id == table.size())
            table.push_back(std::move(entry));
        else
            table[id] = std::move(entry);
        return id;
    }

    // The same with a new entry, which the caller fills in where it is. For what happens at every
    // event: an entry that is filled in elsewhere and copied is read in wider pieces than it was
    // written in, which waits for the writes (1 to 2 ns).
    template <class Entry>
    std::uint32_t put_new_into(std::vector<Entry>& table) {
        const std::uint32_t id = take();
        if (id == table.size())
            table.emplace_back();
        else
            table[id] = Entry{};
        return id;
    }

    // A number that was taken and not given back since.
    void give_back(std::uint32_t id) { vacant_.push_back(id); }

    // Every number given so far is below this.
    std::uint32_t count() const { return count_; }

    // Numbers that were taken and not given back since.
    std::size_t in_use() const { return count_ - vacant_.size(); }

  private:
    std::vector<std::uint32_t> vacant_;
    std::uint32_t count_ = 0;
};

}  // namespace tidemark
