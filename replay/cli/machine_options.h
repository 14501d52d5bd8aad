// MachineOptions: the simulated machine that replay and compare run on, in the words of the command
// line.
#pragma once

#include <string>

#include "core/base/units.h"
#include "replay/cli/arguments.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

class MachineOptions {
  public:
    void declare(Arguments& arguments) {
        arguments.bytes({"--memory", "SIZE", "of the device; else as recorded, or the profile's"},
                        memory_);
        arguments.bytes({"--limit", "SIZE", "per process, on reserved memory (default: none)"},
                        limit_);
        arguments.text({"--profile", "NAME", "costs of device calls: h200, or a JSON file"},
                       profile_);
        arguments.flag({"--check", "", "watch for overlap, early reuse, double free, leaks, ..."},
                       check_);
    }

    // A scenario of `policy` on this machine.
    Scenario scenario(const std::string& trace, const std::string& policy) const {
        Scenario scenario;
        scenario.trace = trace;
        scenario.policy = policy;
        scenario.profile = profile_;
        scenario.memory = memory_;
        scenario.limit = limit_;
        scenario.check = check_;
        return scenario;
    }

  private:
    Bytes memory_ = 0;
    Bytes limit_ = 0;
    std::string profile_ = "h200";
    bool check_ = false;
};

}  // namespace tidemark
