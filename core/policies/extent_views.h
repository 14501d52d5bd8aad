// ExtentViews: ranges of addresses at which handles of an ExtentLine are mapped a second time, in
// the order that a request needed.
//
// A view owns no memory: what is granted in it are blocks of the line. It stays when its grant has
// ended, since the same parts may be free together again. Views that nobody uses are removed when
// there are too many, or before a handle is released to the device.
//
// A value that names its device and line only in calls. Not thread-safe. O(mappings of all views) a
// call unless stated otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/policies/extent_line.h"

namespace tidemark::policies {

class ExtentViews {
  public:
    using ViewId = std::uint32_t;

    // A range of a view that is entirely free in the line, and its parts there, in order.
    struct Found {
        ViewId view = 0;
        Address begin = Address::null;
        std::vector<Range> parts;
    };

    // Maps whole handles, each once, in a row: all of them or none. After an error some mappings
    // may remain; end_unused() tries again to remove them. O(handles) device calls.
    DeviceResult<ViewId> make(Device& device, const ExtentLine& line,
                              std::span<const std::uint32_t> handles);

    Address begin(ViewId view) const { return views_[view].range.begin; }

    // The smallest free range of at least `size` bytes in a view that is not in one piece in the
    // line. O(mappings + free blocks of the line for each).
    std::optional<Found> find(const ExtentLine& line, Bytes size) const;

    // A grant in the view begins; or ends, after which `streams` may still use it.
    void enter(ViewId view);
    void leave(ViewId view, StreamSet streams);

    // Mappings of all views.
    std::uint32_t mappings() const { return mappings_; }

    // Removes mappings of views without a grant, those that were left first, until at most `most`
    // remain. It keeps those that a stream may still use, unless `awaited` (the caller has waited
    // for the device), and those that the device refuses to unmap. O(mappings) device calls.
    void end_unused(Device& device, std::uint32_t most, bool awaited);

    // Removes all mappings of a free handle. False: the device refused, or a stream may use them.
    bool end_mappings(Device& device, const ExtentLine& line, std::uint32_t handle, bool awaited);

    // Calls visit(view's range) for each.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const View& view : views_)
            if (view.range.size != 0)
                visit(view.range);
    }

  private:
    struct Mapping {
        Range range;
        Address home = Address::null;
    };

    // `range.size` 0: vacant. Without its reserved addresses a view does not exist.
    struct View {
        Range range;
        std::vector<Mapping> mappings;  // by address; gaps where some were removed
        std::uint32_t grants = 0;
        std::uint64_t left = 0;  // when the last grant in it ended
        StreamSet streams;
    };

    bool end_mapping(Device& device, View& view, std::size_t index);
    void forget_if_empty(Device& device, View& view);

    std::vector<View> views_;
    std::uint32_t mappings_ = 0;
    std::uint64_t clock_ = 0;
};

}  // namespace tidemark::policies
