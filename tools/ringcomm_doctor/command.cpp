// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <algorithm>
#include <cstdio>

#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) names.push_back(concat("--", name));
    for (const std::string& name : option->get_snames()) names.push_back(concat("-", name));
  }
  return names;
}

/// The first word that looks like an option and is none.
std::string unknown_option(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> known = option_names(app);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string word = argument.substr(0, argument.find('='));
    if (word.size() > 1 && word[0] == '-' && std::find(known.begin(), known.end(), word) == known.end())
      return concat("unknown option ", word, ". Did you mean ", nearest_word(word, known), "?");
  }
  return "unexpected argument";
}

}  // namespace

int usage_error(const std::string& command, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n%s --help tells more.\n", command.c_str(), message.c_str(), command.c_str());
  return kExitUsage;
}

std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ExtrasError&) {
    return usage_error(app.get_name(), unknown_option(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    return usage_error(app.get_name(), error.what());
  }
  return std::nullopt;
}

}  // namespace ringcomm::doctor
