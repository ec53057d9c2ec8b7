import { Combobox } from '#control-plane/dashboard/ui/combobox.tsx'
import type { useSuggestions } from './filter-suggestions.ts'

type Chosen = { readonly model?: string | undefined; readonly provider?: string | undefined }
type Props = {
  readonly chosen: Chosen
  readonly suggestions: ReturnType<typeof useSuggestions>
  readonly onChange: (next: Chosen) => void
}

/** The filters of calls by model and by provider, with the names that the reader's calls have. */
export function CallFilters({ chosen: { model, provider }, suggestions, onChange }: Props) {
  return (
    <>
      <Combobox
        label="Model"
        value={model}
        suggestions={suggestions.models}
        onOpen={suggestions.want}
        onChoose={(next) => onChange({ model: next })}
      />
      <Combobox
        label="Provider"
        value={provider}
        suggestions={suggestions.providers}
        onOpen={suggestions.want}
        onChoose={(next) => onChange({ provider: next })}
      />
    </>
  )
}
