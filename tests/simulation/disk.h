// A disk that holds one journal: what is written to it may come to it in part, or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "journal/file.h"
#include "tests/simulation/random.h"
#include "tests/simulation/world.h"

namespace msrun::simulation {

class Disk {
 public:
  // The host loses its power: what was not brought to the device is lost, wholly or in part.
  void lose_power(Random& random);

  std::string bytes;
  std::size_t synced = 0;             // bytes that survive the loss of power
  std::optional<std::size_t> room{};  // bytes that fit in all; nothing: as many as there are
};

// The journal as one life of the supervisor has it open. The references outlive it.
class JournalFile final : public journal::File {
 public:
  JournalFile(Disk& disk, World& world, Random& random) : disk_(disk), world_(world), random_(random) {}

  std::string name() const override { return "simulated.journal"; }
  std::uint64_t size() const override { return disk_.bytes.size(); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override;
  std::size_t append(std::string_view bytes) override;
  void sync() override;
  void truncate(std::uint64_t size) override;

 private:
  void require_life() const;

  Disk& disk_;
  World& world_;
  Random& random_;
};

}  // namespace msrun::simulation
