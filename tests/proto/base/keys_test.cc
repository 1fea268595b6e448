#include "proto/base/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace puzzled {
namespace {

const std::string kKeyA(kKeyTextBytes, 'a');
const std::string kKeyB(kKeyTextBytes, 'b');

class KeyFiles : public testing::Test {
 protected:
  KeyFiles() {
    char path[] = "/tmp/puzzled_keys_XXXXXX";
    folder_ = ::mkdtemp(path);
  }
  ~KeyFiles() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  static std::string error_of(const auto& result) {
    const auto* error = std::get_if<KeyError>(&result);
    return error == nullptr ? "" : error->text;
  }

  std::string folder_;
};

TEST(Keys, AreFortyCharactersOfZ85) {
  EXPECT_TRUE(is_key_text("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));
  EXPECT_FALSE(is_key_text(kKeyA + "a"));
  EXPECT_FALSE(is_key_text(std::string(kKeyTextBytes - 1, 'a') + "\""));
  EXPECT_FALSE(is_key_text(""));
}

TEST_F(KeyFiles, AreReadAsTheyWereWritten) {
  const std::string path = write("a.key", key_file_text("a", {kKeyA, kKeyB}), 0600);
  const auto read = read_key_file(path);
  ASSERT_EQ(error_of(read), "");
  EXPECT_EQ(std::get<KeyPair>(read).public_key, kKeyA);
  EXPECT_EQ(std::get<KeyPair>(read).secret_key, kKeyB);
  EXPECT_EQ(std::get<std::string>(read_public_key(path)), kKeyA) << "never the secret one";
}

TEST_F(KeyFiles, ASecretThatOthersCanReadIsRefused) {
  for (const mode_t mode : {0640U, 0604U, 0660U, 0610U}) {
    const std::string path = write("a.key", key_file_text("a", {kKeyA, kKeyB}), mode);
    EXPECT_NE(error_of(read_key_file(path)).find("chmod 600"), std::string::npos) << mode;
  }
}

// A cluster hands a secret to a process without privileges as a file of root's that its group may
// read; nobody else may.
TEST_F(KeyFiles, ASecretOfRootsMayBeForAGroupOfOurs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of root's";
  constexpr uid_t kNobody = 65534;
  ::chmod(folder_.c_str(), 0755);
  const auto error_as_nobody = [&](mode_t mode, uid_t owner) {
    const std::string path = write("a.key", key_file_text("a", {kKeyA, kKeyB}), mode);
    EXPECT_EQ(::chown(path.c_str(), owner, kNobody), 0);
    EXPECT_EQ(::setegid(kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    const std::string error = error_of(read_key_file(path));
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
    std::filesystem::remove(path);
    return error;
  };
  EXPECT_EQ(error_as_nobody(0440, 0), "");
  EXPECT_NE(error_as_nobody(0444, 0).find("others can read"), std::string::npos);
  EXPECT_NE(error_as_nobody(0460, 0).find("others can read"), std::string::npos);
  EXPECT_NE(error_as_nobody(0440, kNobody).find("others can read"), std::string::npos);
}

TEST_F(KeyFiles, WhatIsNoKeyFileIsSaidSo) {
  EXPECT_NE(error_of(read_key_file(folder_ + "/none.key")).find("No such file"), std::string::npos);
  EXPECT_NE(error_of(read_key_file(folder_)).find("not"), std::string::npos);
  EXPECT_NE(error_of(read_key_file(write("x", "public no key", 0600))).find("no key file"),
            std::string::npos);
  // Not that others can read a secret: there is none.
  EXPECT_NE(error_of(read_key_file(write("b.pub", "server " + kKeyB + " broker\n", 0644)))
                .find("holds a public key only"),
            std::string::npos);
  EXPECT_NE(error_of(read_key_file(write("y", std::string(100'000, 'x'), 0600))).find("no key"),
            std::string::npos);
  EXPECT_NE(error_of(read_public_key(write("z", "hello\n", 0600))).find("no public key"),
            std::string::npos);
}

TEST_F(KeyFiles, ThePublicKeyIsTextOrAFile) {
  EXPECT_EQ(std::get<std::string>(read_public_key(kKeyB)), kKeyB);
  const std::string path = write("b.pub", "server " + kKeyB + " broker\n", 0644);
  EXPECT_EQ(std::get<std::string>(read_public_key(path)), kKeyB);
}

TEST_F(KeyFiles, BothSettingsOrNone) {
  const std::string path = write("a.key", key_file_text("a", {kKeyA, kKeyB}), 0600);
  EXPECT_FALSE(std::get<0>(read_curve_keys("", "")).has_value());
  EXPECT_NE(error_of(read_curve_keys(path, "")).find("both"), std::string::npos);
  EXPECT_NE(error_of(read_curve_keys("", kKeyB)).find("both"), std::string::npos);
  EXPECT_EQ(std::get<0>(read_curve_keys(path, kKeyB))->server_key, kKeyB);
}

TEST(RolesText, IncludeWhatTheyImply) {
  EXPECT_TRUE(has_role(*parse_roles("submit"), Role::kRead));
  EXPECT_FALSE(has_role(*parse_roles("read"), Role::kSubmit));
  EXPECT_TRUE(has_role(*parse_roles("operate"), Role::kSubmit));
  EXPECT_FALSE(has_role(*parse_roles("operate"), Role::kWork));
  EXPECT_EQ(parse_roles("operate,work"), kAllRoles);
  EXPECT_EQ(parse_roles("none"), 0);
  for (const char* wrong : {"", "root", "read,", ",read", "READ", "read work"}) {
    EXPECT_FALSE(parse_roles(wrong).has_value()) << wrong;
  }
}

TEST(KeyLines, SayWhatIsWrong) {
  const auto good = parse_key_line("  submit " + kKeyA + "\talice \r");
  ASSERT_TRUE(std::holds_alternative<KeyLine>(good));
  EXPECT_EQ(std::get<KeyLine>(good).name, "alice");
  for (const std::string& wrong :
       {"submit " + kKeyA, "submit " + kKeyA + " a b", "all " + kKeyA + " a",
        std::string("read x a"), "read " + kKeyA + " " + std::string(201, 'n')}) {
    EXPECT_TRUE(std::holds_alternative<KeyError>(parse_key_line(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace puzzled
