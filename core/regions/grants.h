// Grants: the live grants of a policy that does not tile its memory with blocks, as a table.
//
// A grant is named by a 32-bit number, the node of its allocation; numbers are reused, last first,
// so the table is as long as the most grants that were ever live. A value: copying it copies the
// state. Not thread-safe. Every operation is O(1) unless stated otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"
#include "core/base/vacant_ids.h"

namespace tidemark {

struct Grant {
    Address begin = Address::null;
    Bytes size = 0;           // 0: vacant
    std::uint32_t owner = 0;  // the policy's
};

class Grants {
  public:
    // Amortised O(1); references to grants do not survive it. `grant.size` must not be 0.
    std::uint32_t add(const Grant& grant) {
        const std::uint32_t number = vacant_.put_new_into(grants_);
        Grant& entry = grants_[number];
        entry.begin = grant.begin;
        entry.size = grant.size;
        entry.owner = grant.owner;
        return number;
    }

    void remove(std::uint32_t number) {
        grants_[number] = {};
        vacant_.give_back(number);
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
    std::vector<Grant> grants_;
    VacantIds vacant_;
};

}  // namespace tidemark
