// StateLog: writes what the shell shows as lines of JSON, one for each frame in which it changed.
// Tests of the real window read it. Behind the hidden option --state-to.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "traces/io/output_target.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

class StateLog {
  public:
    // Keeps no log if none is requested. Errors: io; those of check_rule.
    static Result<StateLog> open(const OutputTarget& target);

    // After a frame. Each line is written immediately.
    void note(Shell& shell, bool loading);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, Close> file_;
    std::string last_;
    std::uint64_t frame_ = 0;
};

}  // namespace tidemark::viz
