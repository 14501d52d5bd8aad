// InnermostAnnotations: which named range of the program an event is in; if several are open, the
// one that started last. A plain value; thread-safe to read.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

class InnermostAnnotations {
  public:
    InnermostAnnotations() = default;

    // Of those that `history` has now. O(annotations * log annotations); 8 bytes for each start and
    // end.
    explicit InnermostAnnotations(const History& history);

    // Its name, of History::strings(); 0: none is open after the event. O(log annotations).
    std::uint32_t name_at(EventIndex event) const;

  private:
    struct Change {
        EventIndex event = 0;
        std::uint32_t name = 0;  // from then on
    };

    std::vector<Change> changes_;  // by event
};

}  // namespace tidemark
