// Camera: see the header.
#include "viz/model/session/camera.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

// The outermost positions: an int64 still holds the length between them.
constexpr Position kLast = Position{1} << 62U;
constexpr Position kFirst = 1 - kLast;

// The nearest whole position within bounds.
Position rounded(long double value) {
    return static_cast<Position>(std::roundl(
        std::clamp(value, static_cast<long double>(kFirst), static_cast<long double>(kLast))));
}

// `length` on from `begin`, but no further than kLast.
Position beyond(Position begin, Position length) {
    return length > kLast - begin ? kLast : begin + length;
}

constexpr double kLeastAddresses = 1e-15;

}  // namespace

// The window, moved and then cut so that it is within the extent and is long enough.
Window Camera::within(Window window) const {
    const Position shortest = std::min(kShortest, extent_);
    const Position length = std::clamp(window.length(), shortest, extent_);
    const Position begin = std::clamp<Position>(window.begin, 0, extent_ - length);
    return {begin, begin + length};
}

void Camera::set_extent(AxisUnit unit, Position end) {
    const bool is_settled = !steps_.empty() && steps_[step_].view == here();
    const bool shows_all = unit != unit_ || window_ == Window{0, extent_};
    unit_ = unit;
    extent_ = extents_[static_cast<std::size_t>(unit)] = std::max<Position>(end, 1);
    if (shows_all)
        window_ = {0, extent_};
    else if (follows_)
        window_ = within({extent_ - window_.length(), extent_});
    else
        window_ = within(window_);
    // Growing is not a movement that a user would want to undo.
    if (is_settled)
        amend();
}

void Camera::set_unit(AxisUnit unit, Position extent, Window window) {
    settle();
    unit_ = unit;
    extent_ = extents_[static_cast<std::size_t>(unit)] = std::max<Position>(extent, 1);
    window_ = within(window);
    zoom_.reset();
}

void Camera::zoom(double factor, Position about) {
    if (!(factor > 0) || !std::isfinite(factor))
        return;
    if (!zoom_ || zoom_->about != about || zoom_->to != window_)
        zoom_ = Zoom{about, window_, window_, 1};
    zoom_->factor *= static_cast<long double>(factor);
    const Window& from = zoom_->from;
    const long double left = static_cast<long double>(about - from.begin) * zoom_->factor;
    const long double length = static_cast<long double>(from.length()) * zoom_->factor;
    const Position begin = rounded(static_cast<long double>(about) - left);
    const Window wanted{begin, beyond(begin, std::max<Position>(rounded(length), 1))};
    const Position shortest = std::min(kShortest, extent_);
    if (wanted.length() < shortest) {
        // The last step in goes as far as it may, with the position still in its place.
        const long double share = static_cast<long double>(about - window_.begin) /
                                  static_cast<long double>(window_.length());
        const Position nearest = about - rounded(share * static_cast<long double>(shortest));
        window_ = within({nearest, nearest + shortest});
        zoom_.reset();
    } else {
        window_ = within(wanted);
        zoom_->to = window_;
        if (window_ != wanted)
            zoom_.reset();
    }
    follows_ = follows_ && window_.end == extent_;
}

void Camera::pan(double share) {
    if (!std::isfinite(share))
        return;
    const long double way =
        static_cast<long double>(share) * static_cast<long double>(window_.length());
    const Position begin = rounded(static_cast<long double>(window_.begin) + way);
    show({begin, beyond(begin, window_.length())});
}

void Camera::show(Window window) {
    window.begin = std::clamp(window.begin, kFirst, kLast);
    window.end = std::clamp(window.end, kFirst, kLast);
    window_ = within(window);
    follows_ = follows_ && window_.end == extent_;
}

void Camera::show_addresses(AddressWindow window) {
    if (!std::isfinite(window.begin) || !std::isfinite(window.end))
        return;
    const double length = std::clamp(window.end - window.begin, kLeastAddresses, 1.0);
    addresses_.begin = std::clamp(window.begin, 0.0, 1.0 - length);
    addresses_.end = std::min(addresses_.begin + length, 1.0);
}

void Camera::zoom_addresses(double factor, double about) {
    if (!(factor > 0) || !std::isfinite(factor))
        return;
    const double length = addresses_.end - addresses_.begin;
    const double wanted = std::clamp(length * factor, kLeastAddresses, 1.0);
    if (wanted >= 1)
        return show_addresses({0, 1});
    const double begin = about - (about - addresses_.begin) * (wanted / length);
    show_addresses({begin, begin + wanted});
}

void Camera::pan_addresses(double share) {
    const double way = share * (addresses_.end - addresses_.begin);
    show_addresses({addresses_.begin + way, addresses_.end + way});
}

void Camera::fit() {
    window_ = {0, extent_};
    addresses_ = {};
}

void Camera::follow(bool on) {
    follows_ = on;
    if (on)
        window_ = within({extent_ - window_.length(), extent_});
}

void Camera::settle() {
    if (steps_.empty() || steps_[step_].view != here())
        add_step();
}

void Camera::settle(const UserState& user) {
    settle();
    if (steps_[step_].user && steps_[step_].user != user)
        add_step();
    steps_[step_].user = user;
}

void Camera::add_step() {
    if (!steps_.empty())
        steps_.resize(step_ + 1);
    steps_.push_back({here(), std::nullopt});
    if (steps_.size() > kSteps)
        steps_.erase(steps_.begin());
    step_ = steps_.size() - 1;
}

const UserState* Camera::user_state() const {
    return steps_.empty() || !steps_[step_].user ? nullptr : &*steps_[step_].user;
}

void Camera::amend() {
    if (!steps_.empty())
        steps_[step_].view = here();
}

bool Camera::undo() {
    settle();
    if (step_ == 0)
        return false;
    restore(steps_[--step_]);
    return true;
}

bool Camera::redo() {
    if (step_ + 1 >= steps_.size() || steps_[step_].view != here())
        return false;
    restore(steps_[++step_]);
    return true;
}

void Camera::restore(const Step& step) {
    unit_ = step.view.unit;
    extent_ = extents_[static_cast<std::size_t>(unit_)];
    window_ = within(step.view.window);
    addresses_ = step.view.addresses;
    follows_ = false;
    amend();
}

double Camera::to_x(Position position, double width) const {
    return static_cast<double>(position - window_.begin) / static_cast<double>(window_.length()) *
           width;
}

Position Camera::to_position(double x, double width) const {
    if (!(width > 0))
        return window_.begin;
    const long double way = static_cast<long double>(x) / static_cast<long double>(width) *
                            static_cast<long double>(window_.length());
    return rounded(static_cast<long double>(window_.begin) + way);
}

}  // namespace tidemark::viz
