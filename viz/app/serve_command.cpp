// Starts the service with the options of the command line.
#include "viz/app/serve_command.h"

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "replay/cli_support/terminal.h"
#include "viz/app/state_log.h"
#include "viz/serve/view_service.h"

namespace tidemark::viz {
namespace {

std::string machine_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

bool is_everywhere(std::string_view address) {
    return address == "0.0.0.0" || address == "::";
}

bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address == "::1";
}

ViewServiceOptions service_options(const ViewCommand& command) {
    ViewServiceOptions options;
    options.load = command.load;
    options.attach = command.attach;
    options.view.dark = command.dark;
    options.view.scale = command.scale;
    options.view.fonts = command.built_in_font ? FontChoice::built_in : FontChoice::system;
    options.view.views = command.views;
    options.view.find = command.find;
    options.view.location = command.location;
    const std::string& first =
        command.load.files.empty() ? command.attach.front() : command.load.files.front();
    options.title = "Tidemark - " + std::filesystem::path(first).filename().string();
    const ServeRequest& serve = command.serve;
    options.web.address = serve.address;
    options.web.port = serve.port.value_or(0);
    options.web.hosts = serve.hosts;
    options.web.ends_with_input = serve.ends_with_input;
    // No page of another site can have this machine's name.
    const std::string name = machine_name();
    options.web.hosts.push_back(name);
    options.web.hosts.push_back(name.substr(0, name.find('.')));
    if (is_everywhere(serve.address))
        options.shown_host = name;
    return options;
}

std::string advice(const ServeRequest& serve, std::uint16_t port) {
    if (is_loopback(serve.address))
        return fmt::format(
            "Open the link in a browser on this machine; only who has the link can view.\n"
            "From another machine: ssh -L {0}:{1}:{0} {2}, then the same link. Through Jupyter:\n"
            "append /proxy/{0}/?token=... to its address. Ctrl-C ends it.\n",
            port, serve.address, machine_name());
    return "Everyone who has the link and reaches this machine can view. The connection is not\n"
           "encrypted: for that, leave out --bind and use `ssh -L`. Ctrl-C ends it.\n";
}

}  // namespace

Result<ExitCode> run_serve(const ViewCommand& command) {
    ViewServiceOptions options = service_options(command);
    std::vector<StateLog> logs;  // by view
    if (command.state_to.wanted())
        options.on_frame = [&](std::size_t view, Shell& shell, bool loading) {
            while (logs.size() <= view) {
                OutputTarget target = command.state_to;
                target.path += fmt::format(".{}", logs.size());
                auto log = StateLog::open(target);
                if (!log)
                    return;
                logs.push_back(*std::move(log));
            }
            logs[view].note(shell, loading);
        };
    TM_ASSIGN(const auto service, ViewService::start(options));
    write_output(service->link() + "\n");
    print_help_to_errors(advice(command.serve, service->port()));
    service->run();
    return ExitCode::yes;
}

}  // namespace tidemark::viz
