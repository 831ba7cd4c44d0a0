// Brown clustering as the paper has it, for comparison: after every merge the losses of all pairs of classes are brought up
// to date, O(C^2), and the least is looked for among all of them. Reads "n_words n_classes", then sentences of word numbers,
// a line each; writes the class of every word.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

static double h(double x) { return x > 0 ? x * std::log(x) : 0; }

int main() {
  std::string line;
  std::getline(std::cin, line);
  std::size_t n_words, n_classes;
  std::istringstream(line) >> n_words >> n_classes;
  std::vector<std::map<int, int>> after(n_words), before(n_words);
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    int last = -1;
    for (int word; words >> word; last = word)
      if (last >= 0) ++after[last][word], ++before[word][last];
  }
  const std::size_t size = n_classes + 1;
  std::vector<double> n(size * size), s(size * size), left(size), right(size);
  std::vector<bool> active(size);
  std::vector<int> slot(n_words, -1);
  const auto at = [&](std::size_t a, std::size_t b) -> double& { return n[a * size + b]; };
  const auto term = [](double x, double y) { return h(x) + h(y) - h(x + y); };
  const auto both = [&](std::size_t a, std::size_t b, std::size_t c) { return term(at(a, c), at(b, c)) + term(at(c, a), at(c, b)); };
  for (std::size_t w = 0; w < n_words; ++w) {
    std::size_t k = 0;
    while (active[k]) ++k;
    slot[w] = static_cast<int>(k);
    active[k] = true;
    for (std::size_t c = 0; c < size; ++c) at(k, c) = at(c, k) = 0;
    for (auto [word, count] : after[w]) if (slot[word] >= 0) at(k, slot[word]) += count;
    for (auto [word, count] : before[w]) if (slot[word] >= 0 && word != static_cast<int>(w)) at(slot[word], k) += count;
    left[k] = right[k] = 0;
    for (std::size_t c = 0; c < size; ++c) {
      left[k] += at(k, c), right[k] += at(c, k);
      if (c != k) right[c] += at(k, c), left[c] += at(c, k);
    }
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = a + 1; b < size; ++b) {
        if (!active[a] || !active[b]) continue;
        if (a == k || b == k) {
          double sum = 0;
          for (std::size_t c = 0; c < size; ++c) if (active[c]) sum += both(a, b, c);
          s[a * size + b] = sum;
        } else {
          s[a * size + b] += both(a, b, k);
        }
      }
    std::size_t used = 0;
    for (std::size_t c = 0; c < size; ++c) used += active[c];
    if (used < size) continue;
    double least = INFINITY;
    std::size_t i = 0, j = 1;
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = a + 1; b < size; ++b) {
        const double aa = at(a, a), ab = at(a, b), ba = at(b, a), bb = at(b, b), four = h(aa) + h(ab) + h(ba) + h(bb);
        const double corner = h(aa + ba) + h(ab + bb) + h(aa + ab) + h(ba + bb) - four - h(aa + ab + ba + bb);
        const double loss = s[a * size + b] + corner - term(left[a], left[b]) - term(right[a], right[b]);
        if (loss < least) least = loss, i = a, j = b;
      }
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = a + 1; b < size; ++b)
        if (a != i && a != j && b != i && b != j)
          s[a * size + b] += term(at(a, i) + at(a, j), at(b, i) + at(b, j)) + term(at(i, a) + at(j, a), at(i, b) + at(j, b)) -
                             both(a, b, i) - both(a, b, j);
    for (std::size_t c = 0; c < size; ++c) at(c, i) += at(c, j), at(c, j) = 0;
    for (std::size_t c = 0; c < size; ++c) at(i, c) += at(j, c), at(j, c) = 0;
    left[i] += left[j], right[i] += right[j];
    active[j] = false;
    for (std::size_t a = 0; a < size; ++a) {
      if (a == i || !active[a]) continue;
      double sum = 0;
      for (std::size_t c = 0; c < size; ++c) if (active[c]) sum += both(i, a, c);
      s[std::min(i, a) * size + std::max(i, a)] = sum;
    }
    for (int& one : slot) if (one == static_cast<int>(j)) one = static_cast<int>(i);
  }
  for (int one : slot) std::printf("%d\n", one);
}
