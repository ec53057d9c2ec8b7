import { useState } from 'react'
import { BuyerSuggestionsDocument } from '#control-plane/dashboard/data/documents/filter-suggestions.ts'
import { compact } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import type { Suggestion } from '#control-plane/dashboard/ui/combobox.tsx'

type Counted = { readonly group: string | null; readonly requests: number }

/** The names of groups of calls, by falling number of calls. */
function suggestionsOf(sums: readonly Counted[]): readonly Suggestion[] {
  const calls = new Map<string, number>()
  for (const { group, requests } of sums) if (group) calls.set(group, (calls.get(group) ?? 0) + requests)
  return [...calls]
    .sort(([, a], [, b]) => b - a)
    .map(([value, count]) => ({ value, label: value, about: `${compact(count)} ${count === 1 ? 'call' : 'calls'}` }))
}

/** Names to filter calls by. They are read once a reader enters a filter. */
export function useSuggestions() {
  const [isOn, setIsOn] = useState(false)
  const { data } = useScreen(BuyerSuggestionsDocument, {}, { isOn })
  return {
    want: () => setIsOn(true),
    models: suggestionsOf(data?.models ?? []),
    providers: suggestionsOf(data?.providers ?? []),
    keys: (data?.keys?.edges ?? []).map(({ node }) => ({ value: node.id, label: node.label || node.id })),
  }
}
