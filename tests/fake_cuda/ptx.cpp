// Enough of PTX to know a module's entries and their parameters.
#include <cctype>
#include <cstdlib>

#include "work.hpp"

namespace fake {
namespace {

std::string without_comments(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 2, "//") == 0) {
            i = std::min(text.find('\n', i), text.size());
        } else if (text.compare(i, 2, "/*") == 0) {
            i = std::min(text.find("*/", i), text.size() - 2) + 1;
            continue;
        }
        if (i < text.size()) out += text[i];
    }
    return out;
}

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// ".param .align 1 .b8 x[64]" is 64 bytes, ".param .u64 x" is 8.
std::size_t parameter_bytes(const std::string& declaration) {
    static const char* const kTypes[] = {".u", ".s", ".f", ".b"};
    std::size_t bytes = 0;
    for (const char* type : kTypes) {
        const std::size_t at = declaration.find(type);
        if (at != std::string::npos &&
            std::isdigit(static_cast<unsigned char>(declaration[at + 2]))) {
            bytes = std::strtoul(declaration.c_str() + at + 2, nullptr, 10) / 8;
        }
    }
    const std::size_t bracket = declaration.find('[');
    if (bracket != std::string::npos) {
        bytes *= std::strtoul(declaration.c_str() + bracket + 1, nullptr, 10);
    }
    return bytes;
}

}  // namespace

int ptx_number(const std::string& text, const std::string& directive) {
    const std::string code = without_comments(text);
    std::size_t at = code.find(directive);
    if (at == std::string::npos) return 0;
    int number = 0;
    for (at += directive.size(); at < code.size() && code[at] != '\n' && code[at] != ','; ++at) {
        if (std::isdigit(static_cast<unsigned char>(code[at])))
            number = number * 10 + code[at] - '0';
    }
    return number;
}

std::map<std::string, Parameters> parse_ptx(const std::string& text) {
    static const std::string kEntry = ".entry";
    const std::string code = without_comments(text);
    std::map<std::string, Parameters> entries;
    for (std::size_t at = code.find(kEntry); at != std::string::npos; at = code.find(kEntry, at)) {
        at += kEntry.size();
        while (at < code.size() && !is_name(code[at])) ++at;
        std::string name;
        while (at < code.size() && is_name(code[at])) name += code[at++];
        const std::size_t open = code.find('(', at);
        const std::size_t close = code.find(')', at);
        Parameters& parameters = entries[name];
        if (open > code.find('{', at) || close == std::string::npos) continue;
        const std::string list = code.substr(open, close - open);
        for (std::size_t p = list.find(".param"); p != std::string::npos;) {
            const std::size_t next = list.find(".param", p + 1);
            parameters.push_back(parameter_bytes(list.substr(p + 6, next - p - 6)));
            p = next;
        }
        at = close;
    }
    return entries;
}

}  // namespace fake
