// tidemark calibrate: measures what the calls of a device cost and writes a profile for the
// simulator.
#include "replay/analysis/calibrate/calibrate.h"

#include <filesystem>
#include <optional>

#include "backends/sim/sim_device.h"
#include "replay/cli/command.h"
#include "replay/cli/written_files.h"
#include "replay/report/machines/calibrate_report.h"
#include "replay/scenario/device_name.h"
#include "replay/scenario/open_device.h"

namespace tidemark::commands {
namespace {

// The device that is measured. A simulated one shows what a profile yields, and needs no GPU.
struct Measured {
    CostProfile profile;
    std::unique_ptr<Device> device;
};

Result<std::unique_ptr<Measured>> open(const std::string& name) {
    TM_ASSIGN(const DeviceName parsed, parse_device_name(name));
    auto measured = std::make_unique<Measured>();
    if (parsed.real) {
        TM_ASSIGN(const auto driver, open_cuda_driver());
        TM_ASSIGN(measured->device, open_cuda_device(driver, {.ordinal = parsed.ordinal}));
        return measured;
    }
    TM_ASSIGN(measured->profile, load_profile(parsed.profile.empty() ? "h200" : parsed.profile));
    measured->device =
        std::make_unique<SimDevice>(SimConfig{.granularity = measured->profile.granularity,
                                              .profile = &measured->profile,
                                              .placement = Placement::driver});
    return measured;
}

class Calibrate final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.file({"-o,--output", "FILE", "the profile to write; - for standard output", true},
                       FileKind::profile, target_);
        arguments.input(
            {"--device", "NAME", "the device to measure: cuda:0 (default), or sim:h200"}, device_);
        arguments.flag({"--quick", "", "take a fifth of the time, and skip the largest sizes"},
                       quick_);
        arguments.report(json_, "print one JSON object with all measurements");
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(target_.path, json_));
        TM_ASSIGN(const auto measured, open(device_));
        Progress progress(context.front(), "calibrating " + device_);
        CalibrateOptions options;
        options.name =
            target_.path == "-" ? "calibrated" : std::filesystem::path(target_.path).stem();
        options.quick = quick_;
        options.progress = [&progress](double share) { progress.show_share(share); };
        TM_ASSIGN(const Calibration calibration, calibrate(*measured->device, options));
        progress.clear();
        const std::string text = profile_text(calibration.profile, calibration.notes);
        if (target_.path == "-") {
            context.print(text);
            return ExitCode::yes;
        }
        TM_TRY(write_whole(target_, text));
        context.print(json_ ? calibration_json(calibration, target_.path, context.provenance())
                            : calibration_text(calibration, target_.path));
        return ExitCode::yes;
    }

  private:
    OutputTarget target_;
    std::string device_ = "cuda:0";
    bool quick_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo calibrate_command() {
    return {
        .name = "calibrate",
        .summary = "measure what a card's calls cost, for the simulator",
        .examples =
            "  tidemark calibrate -o my-card.json             in less than a minute\n"
            "  tidemark calibrate -o second.json --device cuda:1 --quick\n"
            "  tidemark replay run.tmk --profile my-card.json     simulates that card\n"
            "  tidemark calibrate -o - --device sim:h200      needs no GPU\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Calibrate>(); },
        .tables = "measured",
    };
}

}  // namespace tidemark::commands
