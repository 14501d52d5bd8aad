// Camera: which part of the runs is in view, and the way back. All views share one: the same time
// axis for curves, maps and tracks. Pure; positions as in replay/timeline/history.h, int64
// throughout, so that zooming in and out again ends exactly where it started.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "replay/report/forms/axis_ticks.h"
#include "replay/timeline/history.h"

namespace tidemark::viz {

// The visible part of the address axis, as shares of all of it: 0 is the bottom, 1 the top.
struct AddressWindow {
    double begin = 0;
    double end = 1;

    friend bool operator==(const AddressWindow&, const AddressWindow&) = default;
};

// The cursor and the selected block, for steps that need not move the camera.
struct UserState {
    std::optional<Position> cursor;
    std::size_t run = 0;
    std::optional<BlockIndex> block;  // of `run`, selected

    friend bool operator==(const UserState&, const UserState&) = default;
};

class Camera {
  public:
    // Everything that can be in view is [0, end). A growing run calls it again and again: the
    // window stays unless it follows, or showed everything: then it still shows everything.
    void set_extent(AxisUnit unit, Position end);

    AxisUnit unit() const { return unit_; }

    Position extent() const { return extent_; }

    const Window& window() const { return window_; }

    const AddressWindow& addresses() const { return addresses_; }

    // Another unit: the caller converts the current stretch to it.
    void set_unit(AxisUnit unit, Position extent, Window window);

    // Makes the window `factor` times as long about `about`, which keeps its position on the
    // screen: < 1 is closer. It stays within the extent and above kShortest.
    void zoom(double factor, Position about);

    // By a share of the window's length; stops at the ends of the extent.
    void pan(double share);

    // Exactly this, as far as it is within the extent.
    void show(Window window);
    void show_addresses(AddressWindow window);
    void zoom_addresses(double factor, double about);
    void pan_addresses(double share);

    // Everything.
    void fit();

    // While it follows, the window's end stays at the extent's end as that grows. Panning or
    // zooming away from the end stops it.
    bool follows() const { return follows_; }

    void follow(bool on);

    // Navigation can be undone. `settle` notes where the camera is, if that has changed: call it
    // when a movement has come to rest. O(1); the last kSteps are kept.
    void settle();
    bool undo();
    bool redo();

    // The same before and after a step of the cursor, which is recorded whether or not the camera
    // has moved: going back restores it, too.
    void settle(const UserState& user);

    // The cursor and block of the step that was gone back or forward to; null if nothing.
    const UserState* user_state() const;

    // The last step is where the camera is now: what has moved since belongs to it.
    void amend();

    // Maps a position to a screen `width` pixels wide, and back. O(1).
    double to_x(Position position, double width) const;
    Position to_position(double x, double width) const;

    static constexpr Position kShortest = 16;
    static constexpr std::size_t kSteps = 256;

  private:
    struct View {
        Window window;
        AddressWindow addresses;
        AxisUnit unit = AxisUnit::time;

        friend bool operator==(const View&, const View&) = default;
    };

    struct Step {
        View view;
        std::optional<UserState> user;
    };

    View here() const { return {window_, addresses_, unit_}; }

    AxisUnit unit_ = AxisUnit::time;
    Position extent_ = 1;
    std::array<Position, 2> extents_{1, 1};  // the last ones given, by unit
    Window window_;
    AddressWindow addresses_;
    bool follows_ = false;

    // Steps of zooming about one position count from where they began, so that rounding doesn't
    // add up.
    struct Zoom {
        Position about = 0;
        Window from;
        Window to;
        long double factor = 1;
    };

    Window within(Window window) const;
    void restore(const Step& step);

    void add_step();

    std::vector<Step> steps_;
    std::size_t step_ = 0;
    std::optional<Zoom> zoom_;
};

}  // namespace tidemark::viz
