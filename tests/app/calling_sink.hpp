// A log that passes its lines to a test.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace smallbatch::testing {

/// Calls a function for every line of the log.
class CallingSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallingSink(std::function<void(const std::string&)> call) : call_(std::move(call)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override { call_({line.payload.data(), line.payload.size()}); }
  void flush_() override {}

 private:
  std::function<void(const std::string&)> call_;
};

}  // namespace smallbatch::testing
