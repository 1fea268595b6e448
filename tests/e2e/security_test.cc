// Encrypted endpoints: real programs over TCP on loopback.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "tests/e2e/fixture.h"

namespace puzzled::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr Duration kHang = std::chrono::seconds(60);

class Security : public EndToEnd {
 protected:
  // A key pair; its line for the list of keys.
  std::string keygen(const std::string& name, const std::string& role) {
    return ctl_out({"keygen", name, "--role", role, "--dir", folder_.path()});
  }
  [[nodiscard]] std::string key(const std::string& name) const { return path(name + ".key"); }
  void authorize(const std::string& lines) const {
    std::ofstream(path("keys.new")) << lines;
    ::chmod(path("keys.new").c_str(), 0600);
    fs::rename(path("keys.new"), path("keys"));
  }

  // An encrypted daemon at two ports of the system's choice.
  Process start_secure(const Arguments& more = {"--workers", "0"}) {
    const std::string line = keygen("broker", "server");
    server_key_ = line.substr(line.find(' ') + 1, 40);
    Arguments command = {kPuzzled, "--endpoint",  "tcp://127.0.0.1:*", "--database", database_,
                         "--key",  key("broker"), "--authorized-keys", path("keys")};
    command.insert(command.end(), more.begin(), more.end());
    Process daemon = start(command);
    const std::regex endpoints("clients at (tcp://[^ ,]+), workers at (tcp://\\S+)");
    EXPECT_TRUE(eventually([&] {
      std::smatch found;
      const std::string log = daemon.err();
      if (!std::regex_search(log, found, endpoints)) return !daemon.running();
      endpoint_ = found[1];
      worker_endpoint_ = found[2];
      return true;
    }));
    EXPECT_TRUE(daemon.running()) << daemon.err();
    return daemon;
  }

  Ended as(const std::string& name, Arguments arguments) {
    Arguments with = {"--endpoint", endpoint_,           "--key", key(name), "--server-key",
                      server_key_,  "--connect-timeout", "20s"};
    with.insert(with.end(), arguments.begin(), arguments.end());
    return test_ctl(with);
  }
  Process work_as(const std::string& name, const Arguments& more = {}) {
    Arguments command = {kTestWorker,    "--endpoint", worker_endpoint_, "--key", key(name),
                         "--server-key", server_key_,  "--slots",        "1"};
    command.insert(command.end(), more.begin(), more.end());
    return start(command);
  }
  std::uint64_t counted(const std::string& name, const std::string& field) {
    return Json::parse(as(name, {"version", "--output", "json"}).out).at(field);
  }

  std::string server_key_;
};

// What a peer that speaks no protocol of ours sees; bytes in, bytes out, until the other side
// closes or `limit` has passed.
std::string raw_exchange(const std::string& endpoint, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    static_cast<void>(!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    const timeval limit{20, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return answer;
}

TEST_F(Security, RolesDecideWhatAKeyMayDo) {
  authorize(keygen("alice", "submit") + keygen("rita", "read") + keygen("wendy", "work"));
  const Process daemon = start_secure();
  const std::string tests = file("t.in", bishops_file(20));

  const Process worker = work_as("wendy");
  const Ended submitted = as("alice", {"submit", "bishops", tests, "--wait"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_EQ(as("rita", {"results", "1"}).exit_code, 0);

  const Ended refused = as("rita", {"submit", "bishops", tests});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("lacks the role submit"));
  EXPECT_EQ(as("rita", {"cancel", "1"}).exit_code, 4);
  const Ended worker_reads = as("wendy", {"results", "1"});
  EXPECT_EQ(worker_reads.exit_code, 4);
  EXPECT_THAT(worker_reads.err, HasSubstr("lacks the role read"));
  // A client's key may not work either.
  Process impostor = work_as("alice");
  const auto ended = impostor.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("lacks the role work"));
  EXPECT_GE(counted("alice", "refused_messages"), 4U);
}

TEST_F(Security, CompletionShowsItsKeys) {
  authorize(keygen("alice", "submit"));
  const Process daemon = start_secure();
  const Ended submitted = as("alice", {"submit", "bishops", file("t.in", bishops_file(1))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const Ended completed = test_ctl({"__complete", "--endpoint", endpoint_, "--key", key("alice"),
                                    "--server-key=" + server_key_, "status", ""});
  EXPECT_EQ(completed.out, "1\n");
}

TEST_F(Security, WhoIsNotKnownIsRefusedToldAndCounted) {
  authorize(keygen("alice", "submit"));
  Process daemon = start_secure();
  keygen("mallory", "operate");

  const Ended stranger = as("mallory", {"jobs"});
  EXPECT_EQ(stranger.exit_code, 4);
  EXPECT_THAT(stranger.err, HasSubstr("does not know this key"));
  Process worker = work_as("mallory");
  const auto ended = worker.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("does not know this key"));

  const Ended plain = ctl({"--endpoint", endpoint_, "--connect-timeout", "1s", "jobs"});
  EXPECT_EQ(plain.exit_code, 3);
  EXPECT_THAT(plain.err, HasSubstr("no connection comes about"));
  EXPECT_THAT(plain.err, HasSubstr("needs --key and --server-key"));

  server_key_ = ctl_out({"keygen", "other", "--role", "server", "--dir", folder_.path()})
                    .substr(std::string("server ").size(), 40);
  const Ended wrong_server = ctl({"--endpoint", endpoint_, "--key", key("alice"), "--server-key",
                                  server_key_, "--connect-timeout", "1s", "jobs"});
  EXPECT_EQ(wrong_server.exit_code, 3);
  EXPECT_THAT(wrong_server.err, HasSubstr("is --server-key the daemon's present key"));

  server_key_ = path("broker.pub");  // the file does as well as the key
  EXPECT_GE(counted("alice", "refused_handshakes"), 4U);
  EXPECT_THAT(daemon.err(), HasSubstr("refused the key "));
  EXPECT_THAT(daemon.err(), HasSubstr("a handshake failed at "));
}

TEST_F(Security, BytesThatAreNoHandshakeDisturbNobody) {
  authorize(keygen("alice", "submit"));
  Process daemon = start_secure();
  ASSERT_EQ(as("alice", {"jobs"}).exit_code, 0);
  // A greeting of ZMTP 3.1 with CURVE as a client sends it, and a HELLO that was not made for this
  // connection: as if replayed.
  std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01", 12);
  greeting += "CURVE" + std::string(15 + 1 + 31, '\0');
  std::string hello("\x04\xc8\x05HELLO\x01\x00", 10);
  hello += std::string(200 - 8, 'R');
  for (const std::string& bytes :
       {greeting + hello, greeting + hello + hello, greeting, std::string(3000, 'x'),
        std::string("GET / HTTP/1.0\r\n\r\n"), std::string()}) {
    if (bytes.empty() || bytes == greeting) continue;
    raw_exchange(endpoint_, bytes);
    raw_exchange(worker_endpoint_, bytes);
  }
  EXPECT_EQ(as("alice", {"jobs"}).exit_code, 0);
  EXPECT_GE(counted("alice", "refused_handshakes"), 2U);
  EXPECT_TRUE(daemon.running());
}

TEST_F(Security, ARevokedKeyIsOutWithinASecond) {
  const std::string alice = keygen("alice", "submit");
  const std::string wendy = keygen("wendy", "work");
  const std::string walter = keygen("walter", "work");
  const std::string bob = keygen("bob", "submit");
  authorize(alice + bob + wendy + walter);
  // Nobody is gone by silence here.
  Process daemon = start_secure({"--workers", "0", "--liveness", "10m"});
  // Cases of 2 ms each, so that the first worker is at work when its key goes.
  constexpr std::size_t kBusyCases = 1'000;
  Process first = work_as("wendy");
  const Ended submitted = as("alice", {"submit", "bishops", "--solver", "busy", "--no-cache",
                                       file("t.in", bishops_file(kBusyCases))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  Arguments wait = {kCtl,           "--endpoint", endpoint_, "--key", key("bob"),
                    "--server-key", server_key_,  "wait",    "1"};
  Process waiting = start(wait);
  ASSERT_TRUE(eventually([&] {
    return Json::parse(as("alice", {"status", "1", "--output", "json"}).out).at("done") > 0;
  }));

  authorize(alice + walter);
  daemon.signal(SIGHUP);
  const auto ended = first.wait(std::chrono::seconds(20));
  ASSERT_TRUE(ended) << "a revoked worker goes";
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("REVOKED"));
  const auto client = waiting.wait(kHang);
  ASSERT_TRUE(client) << "a revoked client is told at its next sign of life";
  EXPECT_EQ(client->exit_code, 4);
  EXPECT_EQ(as("bob", {"jobs"}).exit_code, 4);

  const Process second = work_as("walter");
  EXPECT_EQ(as("alice", {"wait", "1"}).exit_code, 0);
  const Json rows =
      Json::parse(as("alice", {"results", "1", "--limit", "1000", "--output", "json"}).out);
  EXPECT_EQ(rows.size(), kBusyCases);
  for (const Json& row : rows) EXPECT_EQ(row.at("attempt"), 1) << "nothing was charged";
}

TEST_F(Security, AKeyThatMayNoLongerWorkIsOutAtNoCost) {
  const std::string alice = keygen("alice", "submit");
  const std::string wendy = keygen("wendy", "work");
  const std::string walter = keygen("walter", "work");
  authorize(alice + wendy + walter);
  // Nobody is gone by silence here.
  Process daemon = start_secure({"--workers", "0", "--liveness", "10m"});
  Process first = work_as("wendy");
  const Ended submitted = as("alice", {"submit", "bishops", "--solver", "busy", "--no-cache",
                                       file("t.in", bishops_file(1'000))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  ASSERT_TRUE(eventually([&] {
    return Json::parse(as("alice", {"status", "1", "--output", "json"}).out).at("done") > 0;
  }));

  authorize(alice + "read" + wendy.substr(wendy.find(' ')) + walter);
  daemon.signal(SIGHUP);
  const auto ended = first.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 4);
  EXPECT_THAT(ended->err, HasSubstr("lacks the role work"));

  const Process second = work_as("walter");
  EXPECT_EQ(as("alice", {"wait", "1"}).exit_code, 0);
  const Json rows =
      Json::parse(as("alice", {"results", "1", "--limit", "1000", "--output", "json"}).out);
  EXPECT_EQ(rows.size(), 1'000U);
  for (const Json& row : rows) EXPECT_EQ(row.at("attempt"), 1) << "nothing was charged";
}

TEST_F(Security, ABrokenListLeavesTheOldOne) {
  authorize(keygen("alice", "submit"));
  Process daemon = start_secure();
  authorize("nonsense\n");
  daemon.signal(SIGHUP);
  EXPECT_TRUE(eventually(
      [&] { return daemon.err().find("keys:1: expected ROLES KEY NAME") != std::string::npos; }));
  EXPECT_EQ(as("alice", {"jobs"}).exit_code, 0);
}

// As clusters change a mounted list: another folder takes the place of a link, and nobody sends a
// signal.
TEST_F(Security, AChangedListIsNoticedWithoutASignal) {
  const std::string alice = keygen("alice", "submit");
  const std::string bob = keygen("bob", "submit");
  const auto publish = [&](const std::string& version, const std::string& lines) {
    write_file(path("lists") / version / "keys", lines);
    fs::create_symlink(version, path("lists/new"));
    fs::rename(path("lists/new"), path("lists/current"));
  };
  publish("1", alice + bob);
  fs::create_symlink("lists/current/keys", path("keys"));
  const Process daemon = start_secure({"--workers", "0", "--authorized-keys-poll", "20ms"});
  EXPECT_EQ(as("bob", {"jobs"}).exit_code, 0);

  publish("2", "nonsense\n");
  const auto complaints = [&] {
    const std::string log = daemon.err();
    const std::string line = "the list of authorized keys stays as it was";
    return log.find(line) == std::string::npos ? 0 : log.rfind(line) == log.find(line) ? 1 : 2;
  };
  EXPECT_TRUE(eventually([&] { return complaints() > 0; }));
  EXPECT_EQ(as("bob", {"jobs"}).exit_code, 0);

  publish("3", alice);
  EXPECT_TRUE(eventually([&] { return as("bob", {"jobs"}).exit_code != 0; }));
  EXPECT_EQ(as("alice", {"jobs"}).exit_code, 0);
  EXPECT_EQ(complaints(), 1) << "said once, not at every look";
}

TEST_F(Security, LocalWorkersNeedNoKey) {
  authorize(keygen("alice", "submit"));
  const Process daemon = start_secure({"--workers", "1"});
  const Ended submitted =
      as("alice", {"submit", "bishops", file("t.in", bishops_file(20)), "--wait"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
}

// What systemd is told, by a daemon whose local workers have a socket of their own.
TEST_F(Security, TheServiceManagerIsToldWhereOthersConnect) {
  authorize(keygen("alice", "submit"));
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("notify").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const timeval limit{60, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  environment_["NOTIFY_SOCKET"] = address.sun_path;
  const Process daemon = start_secure({"--workers", "1"});
  char buffer[4096];
  const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(got)),
            "READY=1\nSTATUS=clients at " + endpoint_ + ", workers at " + worker_endpoint_);
  // The worker grades, so it is there; it has told nobody.
  EXPECT_EQ(as("alice", {"submit", "bishops", file("t.in", bishops_file(3)), "--wait"}).exit_code,
            0);
  EXPECT_EQ(::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT), -1);
  ::close(fd);
}

TEST_F(Security, TheDaemonRefusesToBeOpenByAccident) {
  Process open = start({kPuzzled, "--endpoint", "tcp://0.0.0.0:*", "--database", database_});
  auto ended = open.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 2);
  EXPECT_THAT(ended->err, HasSubstr("--authorized-keys"));

  keygen("broker", "server");
  authorize("");
  const Arguments command = {kPuzzled,  "--endpoint",        "tcp://127.0.0.1:*",
                             "--key",   key("broker"),       "--database",
                             database_, "--authorized-keys", path("keys")};
  ::chmod(key("broker").c_str(), 0644);
  Process readable = start(command);
  ended = readable.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 2);
  EXPECT_THAT(ended->err, HasSubstr("chmod 600"));
  ::chmod(key("broker").c_str(), 0600);
  ::chmod(path("keys").c_str(), 0666);
  Process writable = start(command);
  ended = writable.wait(kHang);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 2);
  EXPECT_THAT(ended->err, HasSubstr("chmod go-w"));
}

TEST_F(Security, KeygenKeepsWhatIsThere) {
  keygen("alice", "submit");
  struct stat info {};
  ASSERT_EQ(::stat(key("alice").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const std::string before = read_file(key("alice"));
  const Ended again = ctl({"keygen", "alice", "--dir", folder_.path()});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(read_file(key("alice")), before);
  EXPECT_EQ(ctl({"keygen", "alice", "--dir", folder_.path(), "--force"}).exit_code, 0);
  EXPECT_NE(read_file(key("alice")), before);
  EXPECT_EQ(ctl({"keygen", "../x", "--dir", folder_.path()}).exit_code, 2);
}

}  // namespace
}  // namespace puzzled::testing
