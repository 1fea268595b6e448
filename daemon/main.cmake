puzzled_library(puzzled_daemon option_rows.cc options.cc options_file.cc log.cc supervisor.cc)
target_link_libraries(puzzled_daemon PUBLIC puzzled_base puzzled_log
  PRIVATE puzzled_metrics_address fmt::fmt CLI11::CLI11 tomlplusplus::tomlplusplus)

if(TARGET puzzled_store AND TARGET puzzled_broker)
  puzzled_program(puzzled main.cc check_command.cc)
  target_link_libraries(puzzled PRIVATE puzzled_daemon puzzled_net puzzled_broker puzzled_store
    fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json)
endif()
