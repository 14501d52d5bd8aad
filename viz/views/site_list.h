// SiteList: the call sites with most bytes, and below them the stack of the one that was looked at
// last. A click on a site or on a frame filters all views by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "viz/draw/table.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/blocks/stack_totals.h"
#include "viz/views/stack_lines.h"

namespace tidemark::viz {

class SiteList {
  public:
    // The rules of the totals' question fold frames of these stacks.
    void draw(Frame& frame, const Box& box, const StackTotals& totals, const History& history,
              SiteNames& names);

    // The stack to show; none: that of the largest site.
    void show(std::optional<std::uint32_t> stack) { stack_ = stack; }

  private:
    void draw_sites(Frame& frame, const Box& box, const StackTotals& totals, SiteNames& names);

    VirtualTable list_;
    StackLines lines_;
    std::optional<std::uint32_t> stack_;
};

}  // namespace tidemark::viz
