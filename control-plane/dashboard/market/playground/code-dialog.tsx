import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Segments, Select } from '#control-plane/dashboard/ui/fields.tsx'
import type { ApiCall } from './call-of.ts'
import type { Language } from './snippets.ts'
import { LANGUAGES, snippetOf } from './snippets.ts'

type Props = {
  readonly dialog: DialogState
  readonly url: string
  readonly calls: readonly { readonly name: string; readonly call: ApiCall }[]
}

/** The present call of a column as a program. */
export function CodeDialog({ dialog, url, calls }: Props) {
  const [language, setLanguage] = useState<Language>('curl')
  const [place, setPlace] = useState(0)
  const shown = calls[place] ?? calls[0]
  return (
    <Dialog dialog={dialog} title="Code of this call">
      {calls.length < 2 ? null : (
        <Select
          label="Model"
          value={String(place)}
          onChange={({ currentTarget: { value } }) => setPlace(Number(value))}
          choices={calls.map(({ name }, at) => ({ value: String(at), label: name }))}
        />
      )}
      <Segments
        label="Language"
        value={language}
        choices={LANGUAGES.map((value) => ({ value, label: value }))}
        onChoose={setLanguage}
      />
      {shown === undefined ? null : (
        <Code label={`The call in ${language}`} text={snippetOf(language, url, shown.call)} />
      )}
      <p className="muted small">
        The code reads an API key from MARKET_KEY. <Link to="/buyer/keys">Create an API key</Link>
      </p>
    </Dialog>
  )
}
