#include "text/extract.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace trellis {
namespace {

// What the views of the columns say at token t of the sentence begin .. end.
auto ids_at(const Plan& plan, std::span<const ColumnCodes> columns, std::int64_t t, std::int64_t begin, std::int64_t end) {
  return [=, &plan](const Atom& atom) {
    const ColumnView& slot = plan.view_of(atom);
    return view_id(columns[slot.column], slot.view, t + atom.offset, begin, end, plan.reach);
  };
}

}  // namespace

TokenLists GrowingVocabulary::extract(const Plan& plan, std::span<const ColumnCodes> columns,
                                      std::span<const std::int64_t> starts, std::size_t n_threads) {
  const std::size_t n_tokens = starts.empty() ? 0 : starts.back(), n_templates = plan.templates.size();
  std::vector<std::int32_t> local(n_templates * n_tokens);  // [n_templates, n_tokens], -1 where silent

  // Tables are independent, so each is one piece of work; the numbering depends on the corpus alone.
  parallel_blocks(plan.n_tables, 1, n_threads, [] { return 0; }, [&](int, std::size_t table, std::size_t) {
    for (std::size_t k = 0; k < n_templates; ++k) {
      const Template& shape = plan.templates[k];
      if (static_cast<std::size_t>(shape.table) != table) continue;
      for (std::size_t s = 0; s + 1 < starts.size(); ++s)
        for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) {
          const auto fold = [&](std::int32_t f, std::uint64_t part) { return make_fold(f, part); };
          const std::uint64_t key = pack_key(plan, shape, ids_at(plan, columns, t, starts[s], starts[s + 1]), fold);
          local[k * n_tokens + t] = key == kSilent ? -1 : tables_[table].find_or_add(key);
        }
    }
  });

  const std::vector<std::int32_t> base = first_numbers();
  TokenLists out;
  out.ids.reserve(local.size());
  for (std::size_t t = 0; t < n_tokens; ++t) {
    for (std::size_t k = 0; k < n_templates; ++k)
      if (std::int32_t id = local[k * n_tokens + t]; id >= 0) out.ids.push_back(base[plan.templates[k].table] + id);
    out.end_token();
  }
  return out;
}

std::vector<std::int32_t> GrowingVocabulary::add(const Plan& plan, std::size_t number, const std::int32_t* ids,
                                                 std::size_t n) {
  const Template& shape = plan.templates[number];
  std::vector<std::int32_t> out(n);
  const auto fold = [&](std::int32_t f, std::uint64_t part) { return make_fold(f, part); };
  for (std::size_t i = 0; i < n; ++i)
    out[i] = tables_[shape.table].find_or_add(pack_key(plan, shape, [&](const Atom&) { return *ids++; }, fold));
  return out;
}

}  // namespace trellis
