import { useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { PageFindModelsDocument } from '#control-plane/dashboard/data/documents/find-models.ts'
import { ProviderNamesDocument } from '#control-plane/dashboard/data/documents/name-suggestions.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import type { Suggestion } from '#control-plane/dashboard/ui/combobox.tsx'

type NameSuggestions = { readonly suggestions: readonly Suggestion[]; readonly onType: (name: string) => void }

/** Models with a typed text in their name or id. The market finds them. */
export function useModelSuggestions(): NameSuggestions {
  const [typed, setTyped] = useState('')
  const search = typed.toLowerCase()
  const { data } = useScreen(PageFindModelsDocument, { search }, { isOn: search !== '' })
  const found = (data?.markets?.edges ?? []).map(({ node: { id, name } }) => ({ value: id, label: name, about: id }))
  return { suggestions: found, onType: setTyped }
}

/** The providers of the market. They are read once a reader enters a field. */
export function useProviderSuggestions(): NameSuggestions {
  const [isOn, setIsOn] = useState(false)
  const { data } = useScreen(ProviderNamesDocument, {}, { isOn })
  const found = (data?.providerChoices ?? []).map(({ id, name }) => ({ value: id, label: name, about: id }))
  return { suggestions: found, onType: () => setIsOn(true) }
}

/** The words of a refusal that concerns one member of a form. */
export function faultAt(error: Error | null, member: string): string | undefined {
  return error instanceof MarketError && error.param === member ? error.message : undefined
}
