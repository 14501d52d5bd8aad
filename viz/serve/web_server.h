// WebServer: the page and its WebSockets, over HTTP on one address. It knows nothing about what is
// sent. Built on Boost.Beast, of which nothing is needed when the program runs; in a build without
// it, listen() fails with a hint.
//
// Clients that have not shown the token are accepted for a few seconds, and limited in number: of
// too many the oldest is dropped first, of the address that has most of them, so that a user with
// the link gets in immediately. Without descriptors the server pauses, and accepts again when there
// is one.
//
// No threads: all that happens happens within wait() and end(), on their caller's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark::viz {

using ClientId = std::uint64_t;

// Gets the events. Called within wait().
class WebClients {
  public:
    WebClients() = default;
    WebClients(const WebClients&) = delete;
    WebClients& operator=(const WebClients&) = delete;
    virtual ~WebClients() = default;

    // Whether one more client is accepted, whose link has this as its `view`: any text. If not, the
    // answer is that there are too many.
    virtual bool has_room(std::string_view view) const = 0;

    // Its WebSocket is open.
    virtual void joined(ClientId client, std::string_view view) = 0;

    // A binary message of at most kMostMessageBytes. False: it breaks the rules, and is closed.
    virtual bool received(ClientId client, std::span<const std::byte> message) = 0;

    virtual void left(ClientId client) = 0;
};

struct WebServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  // 0 = one that is free
    std::vector<std::string> hosts;
    std::string token;
    std::string_view page;         // HTML, with "{{nonce}}" where its script and style say theirs
    bool ends_with_input = false;  // when standard input is closed
    std::chrono::milliseconds request_time{4000};  // for a whole request to arrive
};

class WebServer {
  public:
    // `clients` and what the page's text is of outlive it. Errors: bad_option (an address that is
    // none); unsupported (the port is in use or not ours; a program without Boost).
    static Result<std::unique_ptr<WebServer>> listen(const WebServerOptions& options,
                                                     WebClients& clients);

    WebServer(const WebServer&) = delete;
    WebServer& operator=(const WebServer&) = delete;
    ~WebServer();

    std::uint16_t port() const;

    // Handles events, or waits for them: at most `seconds`; less than 0: without limit.
    void wait(double seconds);

    // Ctrl-C, SIGTERM, SIGHUP, or the end of standard input.
    bool stopped() const;

    // A binary message; nothing if the client has left.
    void send(ClientId client, std::vector<std::byte> message);

    // Ends the client's WebSocket with that code, of those for applications: 4000 to 4999.
    void close(ClientId client, std::uint16_t code);

    // Says good-bye to all of them, and waits for that a moment.
    void end();

  private:
    struct Parts;

    explicit WebServer(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;
};

}  // namespace tidemark::viz
