#include "text/extract.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {

TokenLists extract(GrowingVocabulary& vocabulary, const Plan& plan, std::span<const ColumnCodes> columns,
                   std::span<const std::int64_t> starts, std::size_t n_threads) {
  const std::size_t n_tokens = starts.empty() ? 0 : starts.back(), n_templates = plan.templates.size();
  std::vector<std::int32_t> local(n_templates * n_tokens);  // [n_templates, n_tokens], -1 where silent

  // Tables are independent and processed in parallel; the numbering depends only on the corpus.
  parallel_blocks(plan.n_tables, 1, n_threads, [] { return 0; }, [&](int, std::size_t table, std::size_t) {
    for (std::size_t k = 0; k < n_templates; ++k) {
      const Template& shape = plan.templates[k];
      if (static_cast<std::size_t>(shape.table) != table) continue;
      for (std::size_t s = 0; s + 1 < starts.size(); ++s)
        for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) {
          const auto id_of = [&](const Atom& atom) {
            const auto [column, view] = plan.view_of(atom);
            return view_id(columns[column], view, t + atom.offset, starts[s], starts[s + 1], plan.reach);
          };
          const std::uint64_t key = pack_key(plan, shape, id_of, vocabulary.made_folds());
          local[k * n_tokens + t] = key == kSilent ? -1 : vocabulary.tables[table].find_or_add(key);
        }
    }
  });

  const std::vector<std::int32_t> base = vocabulary.first_numbers();
  TokenLists out;
  out.ids.reserve(local.size());
  for (std::size_t t = 0; t < n_tokens; ++t) {
    for (std::size_t k = 0; k < n_templates; ++k)
      if (std::int32_t id = local[k * n_tokens + t]; id >= 0) out.ids.push_back(base[plan.templates[k].table] + id);
    out.end_token();
  }
  return out;
}

std::vector<std::vector<std::int32_t>> merge(GrowingVocabulary& vocabulary, const Plan& plan,
                                             std::span<const std::span<const std::uint64_t>> tables,
                                             std::span<const std::span<const std::uint64_t>> folds) {
  std::vector<std::vector<std::int32_t>> numbers(tables.size()), fold_numbers(folds.size());
  // The key of atoms first .. last, with the number of its last fold translated to this vocabulary.
  const auto translated = [&](std::uint64_t key, std::int32_t first, std::int32_t last) {
    int bits = 0;
    for (std::int32_t a = last; a-- > first;) {
      bits += plan.atoms[a].bits;
      if (plan.atoms[a].fold < 0) continue;
      const std::vector<std::int32_t>& known = fold_numbers[static_cast<std::size_t>(plan.atoms[a].fold)];
      if (key >> bits >= known.size()) throw std::invalid_argument("the key belongs to another plan");
      return static_cast<std::uint64_t>(known[key >> bits]) << bits | (key & ((std::uint64_t{1} << bits) - 1));
    }
    return key;
  };
  const auto add = [&](GrowingTable& to, std::span<const std::uint64_t> keys, std::int32_t first, std::int32_t last) {
    std::vector<std::int32_t> found;
    for (const std::uint64_t key : keys) found.push_back(to.find_or_add(translated(key, first, last)));
    return found;
  };
  for (const Template& shape : plan.templates) {
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a)
      if (const auto f = static_cast<std::size_t>(plan.atoms[a].fold); plan.atoms[a].fold >= 0 && fold_numbers[f].empty())
        fold_numbers[f] = add(vocabulary.folds[f], folds[f], shape.first_atom, a);
    if (const auto t = static_cast<std::size_t>(shape.table); numbers[t].empty())
      numbers[t] = add(vocabulary.tables[t], tables[t], shape.first_atom, shape.last_atom);
  }
  return numbers;
}

}  // namespace trellis
