// MachineOptions: the options that say which machine replay and compare run on.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "replay/cli_support/arguments.h"
#include "replay/cli_support/memory_options.h"
#include "replay/scenario/device_name.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

class MachineOptions {
  public:
    void declare(Arguments& arguments) {
        arguments.input(
            rarely({"--device", "NAME", "cuda:0: a real GPU; sim:h200: as --profile (default)"}),
            device_);
        memory_.declare(arguments);
        arguments.input(rarely({"--profile", "NAME",
                                "costs of simulated device calls: h200 (default), or a file that "
                                "`tidemark calibrate` wrote"}),
                        profile_);
        arguments.real(rarely({"--scale", "F", "make every size of the trace F times as large"}),
                       scale_);
        arguments.flag(
            rarely({"--check", "",
                    "check the policy: overlaps, early reuse, double frees, leaks, ..."}),
            check_);
    }

    // A scenario of `policy` on this machine. Errors (bad_option): options that contradict each
    // other.
    Result<Scenario> scenario(const std::string& trace, const std::string& policy) const {
        TM_ASSIGN(const DeviceName name, parse_device_name(device_));
        if (!profile_.empty() && (name.real || !name.profile.empty()))
            return fail(ErrorCode::bad_option, "contradicts --device " + device_, "--profile",
                        name.real ? "a real device has its own costs" : "give one of them");
        Scenario scenario;
        scenario.trace = trace;
        scenario.policy = policy;
        scenario.device = device_;
        if (!profile_.empty())
            scenario.profile = profile_;
        scenario.scale = scale_;
        memory_.apply(scenario);
        scenario.check = check_;
        return scenario;
    }

    // The device that a run over tiers is made on; nothing: a simulated machine. Errors
    // (bad_option): a name of no device, or a simulated one.
    Result<std::optional<int>> tier_device() const {
        if (device_.empty())
            return std::nullopt;
        TM_ASSIGN(const DeviceName name, parse_device_name(device_));
        if (!name.real)
            return fail(ErrorCode::bad_option, "over tiers, --machine names what to simulate",
                        "--device", "cuda:0 runs on a real GPU");
        return name.ordinal;
    }

    // Runs on real hardware are made one by one. Of a valid --device only.
    bool is_real() const {
        const Result<DeviceName> name = parse_device_name(device_);
        return name && name->real;
    }

    double scale() const { return scale_; }

  private:
    std::string device_;
    MemoryOptions memory_;
    std::string profile_;
    double scale_ = 1;
    bool check_ = false;
};

}  // namespace tidemark
