// OpenSegments: which of a history's segments are alive, so that what comes back to the device can
// be recognised by its addresses: of a whole segment, or of some pages of several mappings.
//
// Used by the builder's thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "core/allocator/memory_observer.h"
#include "core/base/result.h"
#include "replay/timeline/history.h"
#include "replay/timeline/mapped_column.h"

namespace tidemark {

class OpenSegments {
  public:
    // Writes the change to `segments`. Equal pages that are mapped one behind the other at one
    // event are one segment, as long as it is not published; if a mapping is unmapped in part, the
    // rest is a new one. Memory that never came cannot go. O(log alive). Errors: io.
    Result<void> change(MappedColumn<Segment>& segments, const Segment& change, bool begins);

  private:
    struct Key {
        std::uint16_t device = 0;
        SegmentKind kind = SegmentKind::segment;
        std::uint64_t begin = 0;

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    Result<void> begin(MappedColumn<Segment>& segments, const Segment& segment);
    Result<void> end(MappedColumn<Segment>& segments, const Segment& range);

    std::map<Key, SegmentIndex> alive_;
};

}  // namespace tidemark
