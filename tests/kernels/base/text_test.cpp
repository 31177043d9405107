#include "kernels/base/text.h"

#include <gtest/gtest.h>

namespace msrun {
namespace {

TEST(Bounded, LeavesWhatIsShortEnough) {
  EXPECT_EQ(bounded(""), "");
  const std::string longest(longest_foreign_text, 'x');
  EXPECT_EQ(bounded(longest), longest);
}

TEST(Bounded, SaysHowLongTheTextWas) {
  const std::string text = bounded(std::string(20 << 20, 'x'));
  EXPECT_EQ(text.size(), longest_foreign_text);
  EXPECT_TRUE(text.ends_with("xxx... (20971520 bytes)"));
  EXPECT_EQ(bounded(text), text);
}

TEST(Bounded, CutsBetweenCharacters) {
  for (const char* character : {"\xC3\xA9", "\xE7\xB2\xBE", "\xF0\x9F\x98\x80"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, 'x');
      while (text.size() < 3000) text += character;
      const std::string cut = bounded(text);
      EXPECT_LE(cut.size(), longest_foreign_text);
      for (std::string_view rest = cut; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        ASSERT_GT(length, 0U);
        rest.remove_prefix(length);
      }
    }
  }
  // No UTF-8 at all.
  EXPECT_LE(bounded(std::string(5000, '\x80')).size(), longest_foreign_text);
}

}  // namespace
}  // namespace msrun
