// backup: a copy of the database while the daemon goes on.
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <filesystem>

#include "client/calls.h"
#include "client/commands.h"
#include "client/failure.h"
#include "proto/base/assert.h"
#include "proto/base/units.h"

namespace puzzled::client {
namespace {

constexpr std::chrono::milliseconds kLook{500};

}  // namespace

int run_backup(const BackupOptions& options, Context& context) {
  std::array<char, 16> token{};
  ASSERT(::getrandom(token.data(), token.size(), 0) == static_cast<ssize_t>(token.size()));
  Connection connection(connection_options(context));
  // First a word with the daemon: with none, that is what is wrong, and soon.
  const std::string database = get_version(connection).database();
  proto::ClientRequest request;
  proto::Backup& backup = *request.mutable_backup();
  // Relative to where the user is: the daemon is somewhere else.
  backup.set_path(std::filesystem::absolute(options.file).lexically_normal().string());
  backup.set_force(options.force);
  backup.set_token(token.data(), token.size());
  const std::string path = backup.path();
  const std::uint64_t id = connection.send(request, false);
  std::optional<proto::ClientReply> reply;
  while (!reply || reply->id() != id) {
    context.console.progress(
        fmt::format("backup of {} to {}", printable_line(database), printable_line(path)));
    reply = connection.receive(Connection::Clock::now() + kLook);
  }
  context.console.progress("");
  if (reply->has_error()) throw_refusal(reply->error());
  context.console.note(fmt::format("{} written to {}; check it with \"{}\"",
                                   format_size(reply->backup_done().bytes()), printable_line(path),
                                   command_line(context, "doctor --database " + path)));
  return kExitOk;
}

}  // namespace puzzled::client
