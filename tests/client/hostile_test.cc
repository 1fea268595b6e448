// A daemon, or who submitted to it, that puts terminal sequences into every text of its replies:
// none of them reaches the terminal.
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "client/failure.h"
#include "daemon/net/fields.h"
#include "tests/client/fake_broker.h"
#include "tests/client/support.h"

namespace puzzled::client {
namespace {

using namespace std::string_literals;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Clears the screen, sets the window's title, rings, goes back, C1 in UTF-8 and alone, turns the
// direction of writing, a NUL byte.
const std::string kSequences = "\x1b[2J\x1b]0;x\x07\r\b\xc2\x9b\x33\x31m\x9b\x31m\xe2\x80\xae\0z"s;
// What a field that must be UTF-8 can hold of them.
const std::string kUtf8Sequences = "\x1b[2J\x07\r\b\xc2\x9b\x33\x31m\xe2\x80\xae\0z"s;

void spoil_field(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  const std::string& text =
      field.type() == FieldDescriptor::TYPE_BYTES ? kSequences : kUtf8Sequences;
  if (!field.is_repeated()) {
    reflection.SetString(&message, &field, reflection.GetString(message, &field) + text);
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    reflection.SetRepeatedString(&message, &field, i,
                                 reflection.GetRepeatedString(message, &field, i) + text);
  }
}

// Appends to every text that is there or could be, outside of what is not set.
void spoil_all(Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool chosen = field.containing_oneof() == nullptr || reflection.HasField(message, &field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (chosen) spoil_field(message, field);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int k = 0; field.is_repeated() && k < reflection.FieldSize(message, &field); ++k) {
        spoil_all(*reflection.MutableRepeatedMessage(&message, &field, k));
      }
      if (!field.is_repeated() && reflection.HasField(message, &field)) {
        spoil_all(*reflection.MutableMessage(&message, &field));
      }
    }
  }
}

void expect_safe(std::string text, const std::string& command) {
  std::erase(text, '\n');
  EXPECT_TRUE(codec::is_printable(text)) << command << ": " << testing::PrintToString(text);
}

TEST(HostileReplies, NoSequenceReachesATerminal) {
  FakeBroker broker;
  const TemporaryFolder folder;
  folder.file("a.in", "3 2\n4 4\n1 1\n2 9\n0 0\n");
  folder.file("a.ans", "26\n261\nx\n");
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--endpoint", broker.endpoint()});
    return run_puzzlectl(arguments);
  };
  run({"-q", "submit", "bishops", "--keep-going", folder.path()});
  broker.stop();
  broker.spoil_reply = [](proto::ClientReply& reply) { spoil_all(reply); };
  broker.start();
  const std::vector<std::vector<std::string>> commands = {{"jobs"},
                                                          {"status", "17"},
                                                          {"results", "17"},
                                                          {"show", "17", "1"},
                                                          {"show", "17", "2"},
                                                          {"show", "17", "3"},
                                                          {"show", "17", "4"},
                                                          {"workers"},
                                                          {"version"},
                                                          {"wait", "17"},
                                                          {"status", "99"},
                                                          {"cancel", "17"},
                                                          {"export", "17", folder.path() + "/out"}};
  for (const auto& command : commands) {
    const Outcome outcome = run(command);
    const std::string name = testing::PrintToString(command);
    EXPECT_FALSE(outcome.out.empty() && outcome.err.empty()) << name;
    EXPECT_NE(outcome.exit_code, kExitInternal) << name << outcome.err;
    expect_safe(outcome.out, name);
    expect_safe(outcome.err, name);
  }
  // The test can fail: they do get into output for programs.
  EXPECT_NE(run({"results", "17", "--output", "csv"}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace puzzled::client
