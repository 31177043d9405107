#include "runner/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace msrun::report {
namespace {

using Json = nlohmann::json;

// Pieces of time over all sessions, for each of which a thread has a digit: how busy it was, 0 to 9.
constexpr std::size_t most_pieces = 480;
// The longest calls are drawn one by one, and those that a process died of.
constexpr std::size_t most_bars = 1200;
constexpr std::size_t most_deaths = 200;
constexpr std::size_t most_lanes = 256;

using Lane = std::pair<std::int32_t, std::uint32_t>;  // device and thread

// The work of one supervisor.
struct Session {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  std::size_t pieces = 0;
  std::uint64_t length() const { return end > begin ? end - begin : 0; }
  void hold(std::uint64_t from, std::uint64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

class Timeline {
 public:
  Timeline(const RunRecords& records, const std::vector<std::int64_t>& row_of, const Redaction& redaction)
      : records_(records), row_of_(row_of), redaction_(redaction) {
    sessions_.resize(std::max<std::size_t>(records.sessions, 1));
    for (const Interval& interval : records.intervals) {
      sessions_[interval.session].hold(interval.began, interval.began + interval.took);
      lanes_.emplace(Lane(interval.device, interval.thread), 0);
    }
    for (const Death& death : records.deaths) {
      sessions_[death.session].hold(death.note.time, death.note.time);
      for (const DeathNote::Call& call : death.note.calls) {
        if (call.began == 0) continue;
        sessions_[death.session].hold(call.began, death.note.time);
        lanes_.emplace(Lane(death.note.device, call.thread), 0);
      }
    }
    std::size_t number = 0;
    for (auto& [lane, place] : lanes_) place = number++;
  }

  Json json() {
    if (lanes_.empty() || lanes_.size() > most_lanes) return nullptr;
    divide();
    Json lanes = Json::array();
    const std::vector<std::string> busy = busy_pieces();
    for (const auto& [lane, place] : lanes_) lanes.push_back({lane.first, lane.second, busy[place]});
    Json sessions = Json::array();
    for (const Session& session : sessions_) {
      if (session.length() == 0) continue;
      sessions.push_back({session.begin / 1000, session.length(), session.pieces});
    }
    return {{"lanes", lanes}, {"sessions", sessions}, {"bars", bars_json()}, {"deaths", deaths_json()}};
  }

 private:
  // Pieces by the length of the sessions, at least one each.
  void divide() {
    std::uint64_t all = 0;
    for (const Session& session : sessions_) all += session.length();
    std::size_t shown = 0;
    std::size_t next = 0;
    for (Session& session : sessions_) {
      number_.push_back(shown);
      first_piece_.push_back(next);
      if (session.length() == 0) continue;
      ++shown;
      session.pieces = std::max<std::size_t>(1, most_pieces * session.length() / all);
      next += session.pieces;
    }
    pieces_ = next;
  }

  std::vector<std::string> busy_pieces() const {
    std::vector<std::vector<double>> shares(lanes_.size(), std::vector<double>(pieces_));
    const auto add = [&](const Lane& lane, std::uint32_t in, std::uint64_t from, std::uint64_t to) {
      const Session& session = sessions_[in];
      if (session.pieces == 0) return;
      std::vector<double>& of_lane = shares[lanes_.at(lane)];
      const double piece = static_cast<double>(session.length()) / static_cast<double>(session.pieces);
      const double begin = static_cast<double>(from - session.begin) / piece;
      const double end = static_cast<double>(to - session.begin) / piece;
      for (auto i = static_cast<std::size_t>(begin); i < session.pieces && static_cast<double>(i) < end; ++i) {
        const auto left = static_cast<double>(i);
        of_lane[first_piece_[in] + i] += std::min(end, left + 1) - std::max(begin, left);
      }
    };
    for (const Interval& interval : records_.intervals) {
      add({interval.device, interval.thread}, interval.session, interval.began, interval.began + interval.took);
    }
    for (const Death& death : records_.deaths) {
      for (const DeathNote::Call& call : death.note.calls) {
        // The result of a call that does not run again says when it ran.
        if (call.began > 0 && call.again)
          add({death.note.device, call.thread}, death.session, call.began, death.note.time);
      }
    }
    std::vector<std::string> texts;
    for (const std::vector<double>& of_lane : shares) {
      std::string& text = texts.emplace_back();
      for (const double share : of_lane) {
        text += static_cast<char>('0' + (share <= 0 ? 0 : std::clamp(std::lround(share * 9), 1L, 9L)));
      }
    }
    return texts;
  }

  std::int64_t row_of(std::uint32_t task) const { return task < row_of_.size() ? row_of_[task] : -1; }

  Json bars_json() const {
    std::vector<const Interval*> longest;
    for (const Interval& interval : records_.intervals) longest.push_back(&interval);
    std::ranges::stable_sort(longest, std::ranges::greater{}, [](const Interval* interval) { return interval->took; });
    longest.resize(std::min(longest.size(), most_bars));
    Json bars = Json::array();
    for (const Interval* bar : longest) {
      bars.push_back({number_[bar->session], lanes_.at({bar->device, bar->thread}),
                      bar->began - sessions_[bar->session].begin, bar->took, row_of(bar->task)});
    }
    return bars;
  }

  Json deaths_json() const {
    Json deaths = Json::array();
    for (const Death& death : records_.deaths) {
      if (deaths.size() == most_deaths) break;
      const std::uint64_t begin = sessions_[death.session].begin;
      Json calls = Json::array();
      for (const DeathNote::Call& call : death.note.calls) {
        const auto lane = lanes_.find({death.note.device, call.thread});
        calls.push_back({row_of(call.task),
                         call.began == 0 || lane == lanes_.end() ? -1 : static_cast<int>(lane->second),
                         call.began == 0 ? 0 : call.began - begin, call.blamed ? 1 : 0, call.again ? 1 : 0});
      }
      deaths.push_back({number_[death.session], death.note.time - begin, death.note.device,
                        redaction_.text(death.note.reason), death.note.given_up ? 1 : 0, calls});
    }
    return deaths;
  }

  const RunRecords& records_;
  const std::vector<std::int64_t>& row_of_;
  const Redaction& redaction_;
  std::vector<Session> sessions_;
  std::vector<std::size_t> number_;       // by session: its place among those that are shown
  std::vector<std::size_t> first_piece_;  // by session
  std::size_t pieces_ = 0;
  std::map<Lane, std::size_t> lanes_;
};

}  // namespace

Json timeline_json(const RunRecords& records, const std::vector<std::int64_t>& row_of, const Redaction& redaction) {
  return Timeline(records, row_of, redaction).json();
}

}  // namespace msrun::report
