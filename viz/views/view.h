// View: one way to look at runs, drawn into the rectangle it is given. A new one is a file here,
// with a function `ViewInfo NAME_view()`, and one line in views.inc: TIDEMARK_VIEW(NAME).
//
// A view draws and tells the shell what the user wants by changing the frame's selection and
// camera; it keeps nothing but caches. Its cost is bounded by the pixels that it fills, never by
// the events of a run: what would take longer is done by a job (viz/model/session/job.h) and shown
// when it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "viz/draw/frame.h"

namespace tidemark::viz {

class View {
  public:
    View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    virtual ~View() = default;

    virtual void draw(Frame& frame) = 0;

    // Something is being computed and will look different soon: draw again without being asked.
    virtual bool busy() const { return false; }
};

// Where the shell puts it.
enum class Pane : std::uint8_t {
    strip,  // above all others, over the time axis: the minimap
    main,   // large; one or two at once
    side,   // the column at the right
    table,  // below, one at a time
};

struct ViewInfo {
    std::string_view name;     // for --view: "address-map"
    std::string_view title;    // on its tab: "Address map"
    std::string_view summary;  // one sentence, for --help and the key sheet
    Pane pane = Pane::main;
    std::unique_ptr<View> (*make)() = nullptr;
};

// The catalogue (views.cpp), in the order of views.inc. O(1), thread-safe.
std::span<const ViewInfo> all_views();

}  // namespace tidemark::viz
