#include "json_text.hpp"

#include <cstring>

namespace ftax {

namespace {

constexpr int kDeepest = 64;
constexpr int kMostDigits = 18;  // always within 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_plain(char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c - 0x20) < 0x60;
}

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

// How many of eight bytes come before the first that ends or interrupts a plain run of a string: a
// quote, a backslash, a control character, or the beginning of something longer than a byte.
int plain_bytes(std::uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    // The high bit of each byte that is 0; above the first such byte a borrow may say so as well.
    const auto zeros = [](std::uint64_t v) { return (v - kOnes) & ~v; };
    const std::uint64_t control = (bytes - kOnes * 0x20) & ~bytes;
    const std::uint64_t found =
        (control | zeros(bytes ^ (kOnes * '"')) | zeros(bytes ^ (kOnes * '\\')) | bytes) & kHighs;
    return found == 0 ? 8 : __builtin_ctzll(found) / 8;
}

// The length of the UTF-8 character at `at`, which does not begin with an ASCII byte; 0 if it is
// none. Table 3-7 of the Unicode standard.
int character_length(const char* at, const char* end) {
    const auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
    const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned char first = byte(0);
    if (first < 0xC2 || first > 0xF4) return 0;
    const int length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (end - at < length || !follows(1)) return 0;
    if (length >= 3 && !follows(2)) return 0;
    if (length == 4 && !follows(3)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;  // longer than it has to be
    if (first == 0xED && byte(1) > 0x9F) return 0;  // a surrogate
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;  // beyond Unicode
    return length;
}

}  // namespace

bool JsonText::at_end() {
    peek();
    return at_ == end_;
}

bool JsonText::word(std::string_view wanted) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < wanted.size() || std::memcmp(at_, wanted.data(), wanted.size()) != 0) return false;
    at_ += wanted.size();
    return true;
}

bool JsonText::string(String& found) {
    if (!take('"')) return false;
    const char* begin = at_;
    found.escaped = false;
    while (true) {
        int plain = 8;
        while (plain == 8 && end_ - at_ >= 8) {
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, at_, 8);
            plain = plain_bytes(bytes);
            at_ += plain;
        }
        if (plain == 8) {  // less than that is left
            while (at_ != end_ && is_plain(*at_)) ++at_;
        }
        if (at_ == end_) return false;
        if (*at_ == '"') break;
        if (*at_ == '\\') {
            found.escaped = true;
            if (!escape()) return false;
            continue;
        }
        const int length = character_length(at_, end_);
        if (length == 0) return false;  // also for control characters, which are no first bytes
        at_ += length;
    }
    found.raw = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    return true;
}

bool JsonText::escape() {
    if (end_ - at_ < 2) return false;
    if (at_[1] != 'u') {
        if (std::strchr("\"\\/bfnrt", at_[1]) == nullptr || at_[1] == '\0') return false;
        at_ += 2;
        return true;
    }
    if (end_ - at_ < 6) return false;
    int code = 0;
    for (int i = 2; i < 6; ++i) {
        const int digit = hex_digit(at_[i]);
        if (digit < 0) return false;
        code = code * 16 + digit;
    }
    at_ += 6;
    return code < 0xD800 || code > 0xDFFF;
}

bool JsonText::number(Number& found) {
    found = Number{};
    if (take('-')) found.negative = true;
    if (at_ == end_ || !is_digit(*at_)) return false;
    const char* begin = at_;
    for (; at_ != end_ && is_digit(*at_); ++at_) {
        if (at_ - begin < kMostDigits) found.whole = found.whole * 10 + (*at_ - '0');
    }
    if (*begin == '0' && at_ - begin > 1) return false;
    found.exact = at_ - begin <= kMostDigits;
    if (at_ != end_ && *at_ == '.') {
        found.integer = false;
        begin = ++at_;
        for (int unit = 100; at_ != end_ && is_digit(*at_); ++at_, unit /= 10) {
            found.thousandths += unit * (*at_ - '0');
            if (unit == 0 && *at_ != '0') found.exact = false;
        }
        if (at_ == begin) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
        found.integer = found.exact = false;
        ++at_;
        if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
        begin = at_;
        while (at_ != end_ && is_digit(*at_)) ++at_;
        if (at_ == begin) return false;
    }
    return true;
}

bool JsonText::skip(int depth) {
    switch (peek()) {
        case '"': {
            String ignored;
            return string(ignored);
        }
        case '{':
            return skip_object(depth + 1);
        case '[':
            return skip_array(depth + 1);
        case 't':
            return word("true");
        case 'f':
            return word("false");
        case 'n':
            return word("null");
        default: {
            Number ignored;
            return number(ignored);
        }
    }
}

bool JsonText::skip_object(int depth) {
    if (depth > kDeepest || !take('{')) return false;
    if (take('}')) return true;
    String key;
    do {
        if (!string(key) || !take(':') || !skip(depth)) return false;
    } while (take(','));
    return take('}');
}

bool JsonText::skip_array(int depth) {
    if (depth > kDeepest || !take('[')) return false;
    if (take(']')) return true;
    do {
        if (!skip(depth)) return false;
    } while (take(','));
    return take(']');
}

}  // namespace ftax
