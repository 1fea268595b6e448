#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "daemon/net/access_list.h"
#include "daemon/net/permission.h"
#include "tests/net/frames.h"
#include "tests/net/running_daemon.h"

namespace puzzled {
namespace {

const std::string kKeyA(kKeyTextBytes, 'a');
const std::string kKeyB(kKeyTextBytes, 'b');

template <class Value>
std::string error_of(const std::variant<Value, KeyError>& result) {
  const auto* error = std::get_if<KeyError>(&result);
  return error == nullptr ? "" : error->text;
}

TEST(AccessList, NamesTheLineThatIsWrong) {
  const std::string good = "# people\n\nsubmit " + kKeyA + " alice\nwork " + kKeyB + " cluster\n";
  const auto list = AccessList::parse(good, "keys");
  ASSERT_EQ(error_of(list), "");
  EXPECT_EQ(std::get<AccessList>(list).size(), 2U);
  EXPECT_EQ(std::get<AccessList>(list).find(kKeyA)->name, "alice");
  EXPECT_EQ(std::get<AccessList>(list).find(std::string(kKeyTextBytes, 'c')), nullptr);

  EXPECT_EQ(error_of(AccessList::parse(good + "read " + kKeyA + " eve\n", "keys")),
            "keys:5: the key is on the list already, as alice");
  EXPECT_EQ(error_of(AccessList::parse(good + "root\n", "keys")),
            "keys:5: expected ROLES KEY NAME");
  EXPECT_EQ(error_of(AccessList::parse("read " + kKeyA + " a\x1b[31m\n", "keys")),
            "keys:1: the name must be printable");
}

TEST(AccessList, AFileThatOthersCanWriteIsRefused) {
  const test::Folder folder;
  const std::string path = folder.path() + "/keys";
  std::ofstream(path) << "read " << kKeyA << " a\n";
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(error_of(AccessList::read(path)), "");
  ::chmod(path.c_str(), 0664);
  EXPECT_NE(error_of(AccessList::read(path)).find("chmod go-w"), std::string::npos);
  EXPECT_NE(error_of(AccessList::read(path + "x")).find("No such file"), std::string::npos);
}

std::optional<Role> role_of(const proto::ClientRequest& request) {
  const std::string frame = wire::encode(wire::Role::kClient, request);
  return role_for(codec::decode_client({1}, frame, {}));
}

TEST(Permission, EachRequestHasItsRole) {
  proto::ClientRequest request;
  request.set_id(1);
  request.mutable_get_version();
  EXPECT_EQ(role_of(request), Role::kRead);
  request.mutable_get_demand();
  EXPECT_EQ(role_of(request), Role::kRead);
  request.mutable_list_workers();
  EXPECT_EQ(role_of(request), Role::kRead);
  request.mutable_wait_job()->set_job(1);
  EXPECT_EQ(role_of(request), Role::kRead);
  request.mutable_list_results()->set_job(1);
  EXPECT_EQ(role_of(request), Role::kRead);
  request.mutable_cancel_job()->set_job(1);
  EXPECT_EQ(role_of(request), Role::kSubmit);
  EXPECT_EQ(role_of(test::open_job(1, 'a')), Role::kSubmit);
  EXPECT_EQ(role_of(test::add_chunk(2, {"x"}, 'a')), Role::kSubmit);
  request.mutable_control_workers()->set_action(proto::ControlWorkers::DRAIN);
  request.mutable_control_workers()->set_all(true);
  EXPECT_EQ(role_of(request), Role::kOperate);
  EXPECT_EQ(role_of(proto::ClientRequest()), std::nullopt) << "it is refused anyway";
}

}  // namespace
}  // namespace puzzled
