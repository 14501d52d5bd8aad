// Who is let in, and who isn't.
#include "viz/serve/web_access.h"

#include <catch2/catch.hpp>

namespace tidemark::viz {
namespace {

constexpr std::string_view kToken = "00ff00ff00ff";
constexpr std::string_view kPage = "/?token=00ff00ff00ff";
constexpr std::string_view kSocket = "/socket?token=00ff00ff00ff&view=1";

WebAnswer answer(const WebRequest& request) {
    return decide(request, HostRules({"gpu.example.org"}), kToken);
}

}  // namespace

TEST_CASE("tokens are long, and no two are the same", "[one-thread]") {
    const auto first = random_token(24);
    REQUIRE(first);
    CHECK(first->size() == 48);
    CHECK(first->find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(*first != random_token(24).value_or(*first));
}

TEST_CASE("secrets are equal if every byte is", "[one-thread]") {
    CHECK(equal_secrets("abc", "abc"));
    CHECK_FALSE(equal_secrets("abc", "abd"));
    CHECK_FALSE(equal_secrets("abc", "bbc"));
    CHECK_FALSE(equal_secrets("abc", "ab"));
    CHECK_FALSE(equal_secrets("", "a"));
}

TEST_CASE("a target is a path, a token and a view", "[one-thread]") {
    const WebTarget target = parse_web_target("/socket?view=12&token=ab=c&x");
    CHECK(target.path == "/socket");
    CHECK(target.token == "ab=c");
    CHECK(target.view == "12");
    CHECK(parse_web_target("").path.empty());
    CHECK(parse_web_target("/?token").token.empty());
    CHECK(parse_web_target("/?tokens=1&xtoken=2").token.empty());
}

TEST_CASE("the link's token opens the page and the socket, and nothing else does", "[one-thread]") {
    CHECK(answer({.target = kPage, .host = "127.0.0.1:80"}) == WebAnswer::page);
    CHECK(answer({.upgrades = true, .target = kSocket, .host = "localhost"}) == WebAnswer::socket);
    CHECK(answer({.target = kSocket, .host = "localhost"}) == WebAnswer::no_socket);
    CHECK(answer({.target = "/", .host = "localhost"}) == WebAnswer::wrong_token);
    CHECK(answer({.target = "/?token=00ff00ff00fe", .host = "localhost"}) ==
          WebAnswer::wrong_token);
    CHECK(answer({.target = "/?token=", .host = "localhost"}) == WebAnswer::wrong_token);
    CHECK(answer({.upgrades = true, .target = "/socket", .host = "localhost"}) ==
          WebAnswer::wrong_token);
    CHECK(answer({.target = "/etc/passwd?token=00ff00ff00ff", .host = "localhost"}) ==
          WebAnswer::not_found);
    CHECK(answer({.reads = false, .target = kPage, .host = "localhost"}) ==
          WebAnswer::wrong_method);
}

TEST_CASE("only names that a foreign page cannot have for its own are served", "[one-thread]") {
    for (const std::string_view host :
         {"localhost", "LOCALHOST:1", "127.0.0.1:65535", "10.1.2.3", "[::1]:80", "[fe80::1]",
          "gpu.example.org", "GPU.example.org:443"})
        CHECK(answer({.target = kPage, .host = host}) == WebAnswer::page);
    for (const std::string_view host :
         {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "localhost:x",
          "[::1", "[::1]x", "127.0.0.1:123456", ":80"})
        CHECK(answer({.target = kPage, .host = host}) == WebAnswer::wrong_host);
}

TEST_CASE("a page of another origin cannot look, not even with the token", "[one-thread]") {
    const auto from = [](std::string_view origin) {
        return answer(
            {.upgrades = true, .target = kSocket, .host = "localhost:80", .origin = origin});
    };
    CHECK(from("") == WebAnswer::socket);  // no browser
    CHECK(from("http://localhost:80") == WebAnswer::socket);
    CHECK(from("https://localhost:80") == WebAnswer::socket);
    CHECK(from("https://gpu.example.org") == WebAnswer::socket);  // a proxy that is ours
    for (const std::string_view origin :
         {"http://localhost:81", "http://127.0.0.1:80", "null", "http://evil.example", "file://",
          "http://", "ftp://localhost:80", "https://gpu.example.org.evil.example"})
        CHECK(from(origin) == WebAnswer::wrong_origin);
}

}  // namespace tidemark::viz
