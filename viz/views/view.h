// View: one way to look at runs, drawn into the rectangle it is given. To add one, say "sizes",
// write viz/views/sizes.cpp
//
//     class SizesView final : public View {
//       public:
//         void draw(Frame& frame) override { ... }
//     };
//
//     ViewInfo sizes_view() {
//         return {"sizes", "Sizes", "How many blocks have which size.", Pane::table,
//                 make_view<SizesView>};
//     }
//
// and add the line TIDEMARK_VIEW(sizes) to views.inc, where its tab should be.
//
// A view changes only the frame's selection and camera, and keeps only caches. Its cost is bounded
// by the pixels that it fills, never by the events of a run: longer work is done by a job
// (viz/model/session/job.h) and shown when it is ready.
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

    // Something is being computed and will look different soon: draw again without a request.
    virtual bool busy() const { return false; }
};

// The part of the window that shows a view.
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
    bool fills = false;  // a main view that, alone, has the window to itself
    // Whether it has a tab; null: always. A view without a tab can be opened by its name.
    bool (*offered)(const Session& session, const Selection& selection) = nullptr;
    bool shows_advice = false;  // of `advise`'s findings: a picture of it waits for them
};

template <class Drawn>
std::unique_ptr<View> make_view() {
    return std::make_unique<Drawn>();
}

// The catalogue (views.cpp), in the order of views.inc. O(1), thread-safe.
std::span<const ViewInfo> all_views();

}  // namespace tidemark::viz
