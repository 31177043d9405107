// spdlog set up to write the log lines of acc_check_pytorch.md 13.1.
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "kernels/base/text.h"
#include "orchestrator/view/progress_view.h"

namespace msrun {

namespace {

class LevelFlag : public spdlog::custom_flag_formatter {
 public:
  explicit LevelFlag(Paint paint) : paint_(paint) {}

  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    std::string text = paint_(Style::alarm, "ERROR");
    if (message.level <= spdlog::level::debug) {
      text = "DEBUG";
    } else if (message.level == spdlog::level::info) {
      text = "INFO";
    } else if (message.level == spdlog::level::warn) {
      text = paint_(Style::caution, "WARNING");
    }
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelFlag>(paint_); }

 private:
  Paint paint_;
};

class CleanTextFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = sanitised({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<CleanTextFlag>(); }
};

// Hands finished lines to a function.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineSink(std::function<void(std::string_view)> print) : print_(std::move(print)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    print_({line.data(), line.size()});
  }
  void flush_() override {}

 private:
  std::function<void(std::string_view)> print_;
};

spdlog::level::level_enum level_of_environment() {
  using spdlog::level::level_enum;
  constexpr std::array<level_enum, 5> levels{level_enum::debug, level_enum::info, level_enum::warn, level_enum::err,
                                             level_enum::off};
  const char* text = std::getenv("MSPROBE_LOG_LEVEL");
  const bool known = text != nullptr && text[0] >= '0' && text[0] <= '4' && text[1] == '\0';
  return known ? levels[static_cast<std::size_t>(text[0] - '0')] : level_enum::info;
}

}  // namespace

void setup_logging(Console& console, LogForm form) {
  auto sink = std::make_shared<LineSink>([&console](std::string_view line) { console.print_line(line); });
  // No line end from the formatter: the console adds its own.
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::local, "");
  formatter->add_flag<LevelFlag>('*', console.paint())
      .add_flag<CleanTextFlag>('&')
      .set_pattern(form == LogForm::att ? "%Y-%m-%d %H:%M:%S(%P)-[%*]%&" : "%Y-%m-%d %H:%M:%S (%P) [%*] %&");
  sink->set_formatter(std::move(formatter));
  auto logger = std::make_shared<spdlog::logger>("msrun", std::move(sink));
  logger->set_level(level_of_environment());
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace msrun
