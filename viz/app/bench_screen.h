// BenchScreen: the screen that a measurement draws on: the window, or one in memory.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "replay/report/forms/theme.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

class BenchScreen {
  public:
    BenchScreen() = default;
    BenchScreen(const BenchScreen&) = delete;
    BenchScreen& operator=(const BenchScreen&) = delete;
    virtual ~BenchScreen() = default;

    virtual void begin(const Theme& theme) = 0;

    // Returns when every pixel is drawn.
    virtual void end() = 0;

    virtual std::string renderer() const = 0;
};

// Errors: those of GlWindow::open.
Result<std::unique_ptr<BenchScreen>> open_bench_screen(const ViewCommand& command);

}  // namespace tidemark::viz
