#include "kernels/io/files/csv.h"

#include <gtest/gtest.h>

#include <string>

namespace msrun {
namespace {

struct Case {
  std::string text;
  std::string marked;
  std::string without;
};

TEST(CsvFormula, IsMarkedWhereverASpreadsheetWouldRunIt) {
  for (const Case& of : {Case{"=1+1", "'=1+1", "_1+1"},
                         {"\t=1", "'\t'=1", "__1"},
                         {"\r=1", "'\r=1", "_=1"},
                         {"\tname", "'\tname", "_name"},
                         {"a;=1+1", "a;'=1+1", "a;_1+1"},
                         {"a;b;@c;-d", "a;b;'@c;'-d", "a;b;_c;_d"},
                         {"a\t=1", "a\t'=1", "a\t_1"},
                         {"＝1;＋2", "'＝1;'＋2", "_1;_2"},
                         {"-1", "'-1", "_1"},
                         {"=", "'=", "_"}}) {
    EXPECT_TRUE(is_formula(of.text)) << of.text;
    EXPECT_EQ(marked_as_text(of.text), of.marked);
    EXPECT_EQ(without_formula(of.text), of.without);
    EXPECT_FALSE(is_formula(without_formula(of.text))) << of.text;
  }
}

TEST(CsvFormula, IsNoTextThatNoneWouldRun) {
  for (const std::string text : {"", "a", "a=1", "a; =1", ";", "a;", "'=1", "\nMax abs error", "line\n=line",
                                 "line\n\tline", "a\t\tb", "Functional.relu.0"}) {
    EXPECT_FALSE(is_formula(text)) << text;
    EXPECT_EQ(marked_as_text(text), text);
    EXPECT_EQ(without_formula(text), text);
  }
}

TEST(CsvField, HasTheSymbolOfANulInItsPlace) {
  std::string row;
  append_csv_field(row, std::string("a\0,b", 4));
  EXPECT_EQ(row, "\"a\u2400,b\"");
}

}  // namespace
}  // namespace msrun
