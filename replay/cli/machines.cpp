// tidemark machines: the machines that memory tiers are replayed on, and this computer as one.
#include <filesystem>

#include <unistd.h>

#include "backends/disk/disk_files.h"
#include "backends/machines/discovered_machine.h"
#include "backends/machines/machine_json.h"
#include "backends/machines/measured_machine.h"
#include "backends/topology/block_devices.h"
#include "backends/topology/visible_devices.h"
#include "replay/analysis/calibrate/link_figures.h"
#include "replay/cli/command.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/report/machines/machines_report.h"
#include "replay/scenario/open_device.h"

namespace tidemark::commands {
namespace {

constexpr Nanoseconds kBudget = 60'000'000'000;
constexpr Nanoseconds kQuickBudget = 10'000'000'000;
constexpr unsigned kQuickRuns = 5;

// Where a disk is looked for that nobody named: here, or where temporary files go; "" if neither is
// a disk that may be written.
std::string usual_directory() {
    std::error_code none;
    for (const std::filesystem::path& path :
         {std::filesystem::current_path(none), std::filesystem::temp_directory_path(none)}) {
        if (!path.empty() && access(path.c_str(), W_OK) == 0 && !is_in_memory(path))
            return path;
    }
    return {};
}

class Machines final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input({"NAME", "", "a shipped machine, or a file; without it: list all"}, name_);
        arguments.flag({"--discover", "", "describe this computer"}, discover_);
        arguments.flag(
            {"--measure", "", "with --discover: measure links and disks (about a minute)"},
            measure_);
        arguments.flag({"--quick", "", "with --measure: take about 10 s"}, quick_);
        arguments.text(
            rarely({"--gpus", "LIST",
                    "with --discover: which GPUs, as in CUDA_VISIBLE_DEVICES: 0,2 or UUIDs"}),
            gpus_);
        arguments.list(
            {"--disk", "DIR", "with --discover: a folder for spilled data; may be repeated"},
            directories_);
        arguments.input(
            rarely(
                {"--profile", "FILE",
                 "with --discover: the card's measured links, as `tidemark calibrate` wrote them"}),
            profile_);
        arguments.file(
            {"-o,--output", "FILE", "write the machine to a file that you can change and use"},
            FileKind::machine, target_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(check_arguments());
        std::vector<DescribedMachine> machines;
        if (discover_) {
            TM_ASSIGN(DescribedMachine machine, discovered(context));
            machines.push_back(std::move(machine));
        } else if (!name_.empty()) {
            TM_ASSIGN(DescribedMachine machine, open_described_machine(name_));
            machines.push_back(std::move(machine));
        } else {
            for (const std::string_view name : machine_names()) {
                TM_ASSIGN(DescribedMachine machine, open_described_machine(name));
                machines.push_back(std::move(machine));
            }
        }
        if (target_.path == "-") {
            context.print_file(machine_text(machines.front()));
            return ExitCode::yes;
        }
        if (target_.wanted())
            TM_TRY(write_whole(target_, machine_text(machines.front())));
        print(context, machines);
        return ExitCode::yes;
    }

  private:
    Result<void> check_arguments() const {
        TM_TRY(allow_report(target_.path, json_));
        if (discover_ && !name_.empty())
            return fail(ErrorCode::bad_option, "shows this computer, not a machine by name",
                        "--discover");
        if (!discover_ && !(gpus_.empty() && directories_.empty() && profile_.empty()))
            return fail(ErrorCode::bad_option,
                        "--gpus, --disk and --profile are about this computer", "machines",
                        "add --discover");
        if (measure_ && !discover_)
            return fail(ErrorCode::bad_option, "measures this computer", "--measure",
                        "add --discover");
        if (quick_ && !measure_)
            return fail(ErrorCode::bad_option, "says how long to measure", "--quick",
                        "add --measure");
        if (measure_ && !profile_.empty())
            return fail(ErrorCode::bad_option, "contradicts --measure", "--profile",
                        "give one of them: both say what the card's links do");
        if (target_.wanted() && !discover_ && name_.empty())
            return fail(ErrorCode::bad_option, "which machine?", "-o",
                        "give a name, or --discover");
        return {};
    }

    Result<DescribedMachine> discovered(Context& context) {
        const Topology topology = discover_topology();
        DiscoveryQuestion question{.directories = directories_};
        if (measure_ && directories_.empty()) {
            if (std::string usual = usual_directory(); !usual.empty())
                question.directories.push_back(std::move(usual));
        }
        if (target_.wanted() && target_.path != "-")
            question.name = std::filesystem::path(target_.path).stem();
        if (!profile_.empty()) {
            TM_ASSIGN(MeasuredLinks measured, measured_links(topology));
            question.measured.push_back(std::move(measured));
        }
        TM_ASSIGN(DiscoveredMachine discovered, discover_machine(topology, question));
        std::vector<std::int32_t> gpus;
        if (!gpus_.empty()) {
            TM_ASSIGN(gpus, chosen_gpus(topology));
        }
        if (measure_) {
            TM_TRY(build_machine(discovered.found, gpus));  // it is checked before
            TM_TRY(measure(context, gpus, discovered));
        }
        TM_ASSIGN(MachineSpec machine, build_machine(discovered.found, gpus));
        if (discovered.found.disks.empty())
            discovered.notes.emplace_back("disk", "none: --disk DIR adds one");
        return DescribedMachine{std::move(machine), std::move(discovered.notes)};
    }

    Result<void> measure(Context& context, const std::vector<std::int32_t>& gpus,
                         DiscoveredMachine& discovered) {
        TM_ASSIGN(const DiskFiles disk, open_disk_files());
        const NumaHost host = NumaHost::open();
        Progress progress(context.front(), "measuring this computer");
        const Interrupt interrupt(context.front().owns_process());
        MeasureQuestion question{.gpus = gpus, .host = &host, .files = disk.files.get()};
        for (const FoundGpu& gpu : discovered.found.gpus) {
            if (gpus.empty())
                question.gpus.push_back(gpu.id);
        }
        question.open_gpu = [](std::int32_t ordinal) -> Result<std::unique_ptr<Device>> {
            TM_ASSIGN(const auto driver, CudaDriver::open());
            return CudaDevice::open(driver, {.ordinal = ordinal});
        };
        question.budget = quick_ ? kQuickBudget : kBudget;
        if (quick_)
            question.runs = kQuickRuns;
        question.stop = context.front().stop();
        question.progress = [&progress](double share) { progress.show_share(share); };
        TM_ASSIGN(measured_, measure_machine(discovered, question));
        return {};
    }

    Result<MeasuredLinks> measured_links(const Topology& topology) const {
        TM_ASSIGN(const CostProfile profile, load_profile(profile_));
        bool here = false;
        for (const Gpu& gpu : topology.cuda ? topology.cuda->gpus : std::vector<Gpu>{})
            here = here || gpu.cuda.name == profile.device;
        if (!here)
            return fail(ErrorCode::bad_option, "is of an " + profile.device + ", which is not here",
                        profile_, "`tidemark calibrate` measures the card that is");
        MeasuredLinks measured{.gpu = profile.device};
        const auto of = [&](Transfer transfer) {
            return link_of(profile.transfers[static_cast<std::size_t>(transfer)]);
        };
        TM_ASSIGN(measured.to_host, of(Transfer::to_host));
        TM_ASSIGN(measured.from_host, of(Transfer::to_device));
        return measured;
    }

    Result<std::vector<std::int32_t>> chosen_gpus(const Topology& topology) const {
        if (!topology.cuda)
            return tl::make_unexpected(topology.cuda.error());
        std::vector<NamedGpu> all;
        for (const Gpu& gpu : topology.cuda->gpus)
            all.push_back({.uuid = gpu.cuda.uuid});
        TM_ASSIGN(const VisibleDevices visible, visible_devices(gpus_, all));
        if (visible.empty())
            return fail(ErrorCode::bad_option, "names no GPU", "--gpus");
        std::vector<std::int32_t> ids;
        for (const std::size_t index : visible)
            ids.push_back(topology.cuda->gpus[index].cuda.ordinal);
        return ids;
    }

    void print(Context& context, const std::vector<DescribedMachine>& machines) const {
        if (json_)
            context.print(machines_json(machines, measured_, target_.path, context.provenance()));
        else if (discover_ || !name_.empty())
            context.print(machine_report_text(machines.front(), target_.path));
        else
            context.print(machines_text(machines));
    }

    std::string name_;
    std::string gpus_;
    std::vector<std::string> directories_;
    std::string profile_;
    OutputTarget target_;
    std::vector<MeasuredFigure> measured_;
    bool discover_ = false;
    bool measure_ = false;
    bool quick_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo machines_command() {
    return {
        .name = "machines",
        .summary = "list the machines for replays over tiers, or describe this computer",
        .examples =
            "  tidemark machines\n"
            "  tidemark machines h200-node                    its spaces and links\n"
            "  tidemark machines h200-node -o my-node.json    a copy to change\n"
            "  tidemark machines --discover --disk /scratch -o my-node.json\n"
            "  tidemark machines --discover --measure --quick     measured in about 10 s, printed "
            "only\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Machines>(); },
        .tables = "machines",
    };
}

}  // namespace tidemark::commands
