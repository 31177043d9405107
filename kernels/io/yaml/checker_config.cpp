#include "kernels/io/yaml/checker_config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/base/search_paths.h"
#include "kernels/io/yaml/yaml.h"

namespace msrun {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view in_package = "msprobe/pytorch/api_accuracy_checker/config.yaml";

// The folders of a variable of the environment such as PATH.
std::vector<std::string> listed_in(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): set before threads are
  return listed_folders(value == nullptr ? "" : value);
}

// The folders of packages below the one that an interpreter is installed in.
std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const char* library : {"lib", "lib64", "local/lib"}) {
    for (fs::directory_iterator at(prefix / library, error), end; !error && at != end; at.increment(error)) {
      if (!at->path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) folders.push_back(at->path() / packages);
    }
  }
  std::ranges::sort(folders);
  return folders;
}

// In the order in which Python would look.
std::vector<fs::path> folders_of_python() {
  const std::vector<std::string> named = listed_in("PYTHONPATH");
  std::vector<fs::path> folders(named.begin(), named.end());
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    for (const std::string& prefix : listed_in(variable)) prefixes.emplace_back(prefix);
  }
  std::error_code error;
  for (const std::string& name : listed_in("PATH")) {
    const fs::path folder(name);
    if (!fs::exists(folder / "python3", error)) continue;
    prefixes.push_back(folder.parent_path());
    break;
  }
  for (const fs::path& prefix : prefixes) {
    for (fs::path& folder : package_folders(prefix)) folders.push_back(std::move(folder));
  }
  return folders;
}

}  // namespace

std::string installed_config_yaml() {
  std::error_code error;
  for (const fs::path& folder : folders_of_python()) {
    fs::path path = folder / in_package;
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return {};
}

std::string config_yaml_for(const std::string& config_json) {
  std::error_code error;
  for (const char* name : {"config.yaml", "config.yml"}) {
    const fs::path beside = fs::path(config_json).parent_path() / name;
    if (fs::is_regular_file(beside, error)) return beside.string();
  }
  return installed_config_yaml();
}

std::optional<int> decimals_of(const std::string& config_yaml) {
  std::ifstream file(config_yaml, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> repeated_keys;
  const nlohmann::json root = parse_yaml(config_yaml, text, repeated_keys);
  const auto found = root.find("precision");
  if (!root.is_object() || found == root.end() || !found->is_number_integer()) return std::nullopt;
  if (*found < 0 || *found > most_decimals) return std::nullopt;
  return found->get<int>();
}

}  // namespace msrun
