import { useState } from 'react'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { ColumnHead } from './column-head.tsx'
import type { ModelColumn, ShownColumn } from './columns.ts'
import { MAX_COLUMNS } from './columns.ts'
import { ModelFinder } from './model-finder.tsx'
import type { PriceQuote } from './use-quotes.ts'

type Chosen = Pick<ModelColumn, 'model' | 'provider'>

type Props = {
  readonly columns: readonly ShownColumn[]
  readonly quotes: Readonly<Record<string, PriceQuote>>
  readonly onChange: (columns: readonly Chosen[]) => void
}

/** The models side by side, and the way to change them. */
export function ColumnHeads({ columns, quotes, onChange }: Props) {
  const [place, setPlace] = useState<number>()
  const put = (at: number, chosen: Chosen) => onChange([...columns.slice(0, at), chosen, ...columns.slice(at + 1)])
  return (
    <>
      <div className="play-heads">
        {columns.map((column, at) => (
          <ColumnHead
            key={column.id}
            column={column}
            place={at}
            quote={quotes[column.id]}
            onModel={() => setPlace(at)}
            onProvider={(provider) => put(at, { model: column.model, provider })}
            onRemove={columns.length < 2 ? undefined : () => onChange(columns.filter((_, other) => other !== at))}
          />
        ))}
      </div>
      {columns.length < MAX_COLUMNS ? (
        <div className="actions">
          <Button onClick={() => setPlace(columns.length)}>Add a model to compare</Button>
        </div>
      ) : null}
      <ModelFinder
        dialog={{ isOpen: place !== undefined, close: () => setPlace(undefined) }}
        onChoose={(model) => {
          if (place !== undefined) put(place, { model, provider: undefined })
          setPlace(undefined)
        }}
      />
    </>
  )
}
