// A strict JSON text, read from left to right without copying anything.
//
// Strict, because it only has to read what every JSON reader understands in the same way: whatever
// is unusual (a control character in a string, bytes that are no UTF-8, a surrogate, a nesting of
// 64) is refused, and its user leaves the text to a reader that knows what to make of it. Every
// method skips white space first and returns false for what it refuses; after that the position is
// nowhere in particular. Nothing beyond the end of the text is ever looked at.
#pragma once

#include <cstdint>
#include <string_view>

namespace ftax {

class JsonText {
  public:
    // A number as it was written: ± (whole + thousandths / 1000), if `exact`.
    struct Number {
        bool negative = false;
        std::int64_t whole = 0;
        int thousandths = 0;
        bool integer = true;  // no fraction, no exponent
        // False where it has an exponent, more than 18 digits before the point, or more than three
        // behind it: then the other fields mean nothing but `integer`.
        bool exact = true;
    };

    struct String {
        std::string_view raw;  // without quotes, with its escapes
        bool escaped = false;
    };

    explicit JsonText(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    // Whether nothing but white space is left.
    bool at_end();
    // The next character, '\0' at the end.
    char peek() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
        return at_ == end_ ? '\0' : *at_;
    }
    // Steps over `wanted` if it is next.
    bool take(char wanted) {
        if (peek() != wanted || at_ == end_) return false;
        ++at_;
        return true;
    }
    // Steps over `null` if it is next.
    bool take_null() { return peek() == 'n' && word("null"); }
    bool string(String& found);
    bool number(Number& found);
    // Steps over any value.
    bool skip(int depth = 0);
    // Where the text continues, for views of what was stepped over.
    const char* position() const { return at_; }

  private:
    bool word(std::string_view wanted);
    bool escape();
    bool skip_object(int depth);
    bool skip_array(int depth);

    const char* at_;
    const char* end_;
};

}  // namespace ftax
