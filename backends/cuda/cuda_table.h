// CudaTable: native handles by our own ids, which are never reused. So a stale id is refused here
// and never reaches the driver, where it could mean something else by then. Thread-safe; O(1)
// expected.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tidemark {

template <class Handle>
class CudaTable {
  public:
    // Ids count from 1.
    std::uint64_t insert(Handle handle) {
        const std::lock_guard lock{mutex_};
        handles_.emplace(++last_, handle);
        return last_;
    }

    std::optional<Handle> find(std::uint64_t id) const {
        const std::lock_guard lock{mutex_};
        const auto found = handles_.find(id);
        if (found == handles_.end())
            return std::nullopt;
        return found->second;
    }

    // Removes the handle, so that the second of two threads that release it at once comes too late.
    std::optional<Handle> take(std::uint64_t id) {
        const std::lock_guard lock{mutex_};
        const auto found = handles_.find(id);
        if (found == handles_.end())
            return std::nullopt;
        const Handle handle = found->second;
        handles_.erase(found);
        return handle;
    }

    // Puts back what was removed.
    void restore(std::uint64_t id, Handle handle) {
        const std::lock_guard lock{mutex_};
        handles_.emplace(id, handle);
    }

    std::vector<Handle> all() const {
        const std::lock_guard lock{mutex_};
        std::vector<Handle> list;
        list.reserve(handles_.size());
        for (const auto& [id, handle] : handles_)
            list.push_back(handle);
        return list;
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, Handle> handles_;
    std::uint64_t last_ = 0;
};

}  // namespace tidemark
