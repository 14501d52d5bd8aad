// Grants: the live grants of a policy that does not tile its memory with blocks, as a table.
//
// A grant is named by a 32-bit number, the node of its allocation; numbers are reused, last first,
// so the table is as long as the most grants that were ever live. A value: copying it copies the
// state. Not thread-safe. Every operation is O(1) unless said otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"

namespace tidemark {

struct Grant {
    Address begin = Address::null;
    Bytes size = 0;           // 0: vacant
    std::uint32_t owner = 0;  // the policy's; in a vacant entry the number of the next one
};

class Grants {
  public:
    // Amortised O(1); references to grants do not survive it. `grant.size` must not be 0.
    std::uint32_t add(const Grant& grant) {
        if (vacant_ == kNone) {
            TM_CHECK(grants_.size() < kNone);
            grants_.push_back(grant);
            return static_cast<std::uint32_t>(grants_.size() - 1);
        }
        const std::uint32_t number = vacant_;
        vacant_ = grants_[number].owner;
        grants_[number] = grant;
        return number;
    }

    void remove(std::uint32_t number) {
        grants_[number] = {Address::null, 0, vacant_};
        vacant_ = number;
    }

    Grant& operator[](std::uint32_t number) {
        TM_CHECK_DEBUG(number < grants_.size());
        return grants_[number];
    }

    const Grant& operator[](std::uint32_t number) const {
        TM_CHECK_DEBUG(number < grants_.size());
        return grants_[number];
    }

    // All grants by address. O(grants log grants).
    std::vector<Grant> by_address() const {
        std::vector<Grant> live;
        std::copy_if(grants_.begin(), grants_.end(), std::back_inserter(live),
                     [](const Grant& grant) { return grant.size != 0; });
        std::sort(live.begin(), live.end(),
                  [](const Grant& a, const Grant& b) { return a.begin < b.begin; });
        return live;
    }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    std::vector<Grant> grants_;
    std::uint32_t vacant_ = kNone;  // the head of the chain of vacant entries
};

}  // namespace tidemark
