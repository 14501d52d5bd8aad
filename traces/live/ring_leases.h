// RingLeases: which thread writes into which ring. A thread takes a ring with its first event and
// returns it when it ends; the next thread continues where it stopped, names included.
//
// lease() and give_back() may be called from any thread, take no lock, and are rare.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "traces/live/ring_names.h"
#include "traces/live/ring_writer.h"
#include "traces/live/shared_file.h"

namespace tidemark::live {

// What a thread holds: its ring, and the site of its next event.
struct RingLease {
    RingLease(SharedFile& file, const Header& header, NameBudget& budget, std::uint32_t index);

    // The site for events of `pool` under the current scope.
    std::uint32_t site_of(PoolId pool) {
        if (pool == site_pool && site != 0) [[likely]]
            return site;
        return new_site(pool);
    }

    // The same for events with their own tag and stack: ids of strings and stacks, 0 = none.
    std::uint32_t site_of(std::uint32_t own_tag, std::uint32_t own_stack, PoolId pool) {
        const OwnSite& known = own[own_index(own_tag, own_stack, pool)];
        if (own_tag == known.tag && own_stack == known.stack && pool == known.pool) [[likely]]
            return known.site;
        return new_site(own_tag, own_stack, pool);
    }

    // By the program's handle of the stream.
    std::uint16_t stream_of(std::uint64_t stream) {
        if (stream != last_stream) [[unlikely]] {
            last_number = names.stream(stream);
            // What couldn't be named now is retried.
            last_stream = last_number == 0 ? 0 : stream;
        }
        return last_number;
    }

    void enter(std::uint32_t new_tag, std::uint32_t new_stack) {
        tag = new_tag;
        stack = new_stack;
        site = 0;
    }

    std::uint32_t new_site(PoolId pool);
    std::uint32_t new_site(std::uint32_t own_tag, std::uint32_t own_stack, PoolId pool);

    const std::uint32_t ring;
    RingWriter writer;
    RingNames names;
    std::uint32_t tag;
    std::uint32_t stack;
    std::uint32_t site = 0;  // of site_pool; 0: has yet to be found
    PoolId site_pool = PoolId::default_pool;
    std::uint64_t last_stream = 0;
    std::uint16_t last_number = 0;

    struct OwnSite {
        std::uint32_t tag = 0;
        std::uint32_t stack = 0;
        PoolId pool = PoolId::default_pool;
        std::uint32_t site = 0;
    };

    static std::size_t own_index(std::uint32_t own_tag, std::uint32_t own_stack, PoolId pool) {
        return (own_tag + own_stack + to_integer(pool)) % kOwnSites;
    }

    // The last sites of events with their own site: allocating and freeing sites alternate.
    static constexpr std::size_t kOwnSites = 16;
    std::array<OwnSite, kOwnSites> own;
};

class RingLeases {
  public:
    // `file` must outlive it; `history_limit` as in PublishOptions.
    RingLeases(SharedFile& file, const Header& header, Bytes history_limit);

    // A ring for the calling thread; null if none is left, or no memory for it.
    RingLease* lease();

    void give_back(RingLease& lease);

    // Prepares a ring before a thread needs one, if none is ready. For the recorder's thread.
    void keep_one_ready();

    // Reports what the rings have not reported yet; no other thread may publish any longer.
    void report_dropped();

  private:
    enum class State : std::uint32_t { untouched, preparing, ready, leased };

    // False: it is in another state; another thread was faster.
    bool change(std::uint32_t ring, State from, State to);
    bool prepare(std::uint32_t ring);
    RingLease* take(std::uint32_t ring);

    SharedFile& file_;
    const Header& header_;
    NameBudget names_;
    // by ring; made by the first thread that leases it
    std::vector<std::unique_ptr<RingLease>> leases_;
    std::vector<std::atomic<State>> states_;  // not in the file, whose pages aren't all there
    std::atomic<bool> out_of_memory_ = false;
};

}  // namespace tidemark::live
