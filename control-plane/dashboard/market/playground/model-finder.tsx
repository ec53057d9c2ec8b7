import type { KeyboardEvent } from 'react'
import { useId, useState } from 'react'
import { PageFindModelsDocument } from '#control-plane/dashboard/data/documents/find-models.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { placeAfter } from '#control-plane/dashboard/ui/place-after.ts'

type Props = {
  readonly dialog: Pick<DialogState, 'isOpen' | 'close'>
  readonly onChoose: (model: string) => void
}

/** Picks a model by a part of its name. */
export function ModelFinder({ dialog, onChoose }: Props) {
  return (
    <Dialog dialog={dialog} title="Choose a model">
      <Finder onChoose={onChoose} />
    </Dialog>
  )
}

function Finder({ onChoose }: Pick<Props, 'onChoose'>) {
  const id = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const search = text.trim().toLowerCase()
  const filter = search === '' ? { sort: 'requests' as const } : { search }
  const { data } = useScreen(PageFindModelsDocument, filter)
  const found = (data?.markets?.edges ?? []).map(({ node }) => node)
  const at = Math.min(chosen, found.length - 1)
  const press = (event: KeyboardEvent) => {
    const next = placeAfter(event.key, at, found.length)
    if (next !== undefined) {
      event.preventDefault()
      setChosen(next)
    }
    if (event.key !== 'Enter') return
    event.preventDefault()
    const model = found[at]?.id
    if (model !== undefined) onChoose(model)
  }
  return (
    <div className="grid">
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        aria-label="Name of a model"
        placeholder="Part of a name, such as haiku"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <div className="palette">
        <div id={id} role="listbox" aria-label="Models" tabIndex={-1}>
          {found.map(({ id: model, name, best, mediaUnit }, place) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: The field above takes the keys.
            // biome-ignore lint/a11y/useFocusableInteractive: The field above keeps the focus.
            <div
              key={model}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === at}
              onClick={() => onChoose(model)}
            >
              <span>{name}</span>
              <span className="muted">{unitPriceText(best, mediaUnit)}</span>
            </div>
          ))}
        </div>
        {data !== undefined && found.length === 0 ? <p className="muted">No model has that in its name.</p> : null}
      </div>
    </div>
  )
}
