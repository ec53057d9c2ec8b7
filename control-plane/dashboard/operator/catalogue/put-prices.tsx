import type { FormEvent } from 'react'
import { useState } from 'react'
import type { PagePricePreviewQuery } from '#control-plane/dashboard/data/documents/operator.ts'
import { PagePricePreviewDocument, PagePutPricesDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorCatalogueQuery } from '#control-plane/dashboard/data/documents/operator-catalogue.ts'
import { count, percent, words } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DiffLine } from '#control-plane/dashboard/ui/confirm.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pricesOf, UNITS, withPoint } from './price-units.ts'

export type ShownPriceVersion = NonNullable<OperatorCatalogueQuery['referencePrices']>[number]
type Draft = Readonly<Record<string, string>>
type Props = { readonly model: string; readonly current: ShownPriceVersion | undefined; readonly onClose: () => void }

const HOUR_MS = 3_600_000
const MOST_HOURS = 24 * 365
const MAX_SOURCE_CHARS = 500

function draftOf(version: ShownPriceVersion | undefined): Draft {
  const knownLines = (version?.unitPrices ?? []).flatMap(({ unit, pico }) => {
    const row = UNITS[unit]
    return row === undefined ? [] : [[unit, withPoint(pico, row.places)]]
  })
  return Object.fromEntries(knownLines)
}

const dollars = (text: string | undefined) => (text === undefined || text === '' ? 'no price' : `$${text}`)

/** The lines of a draft that differ from the present prices. */
function linesOf(before: Draft, draft: Draft): readonly DiffLine[] {
  return Object.entries(draft)
    .filter(([unit, text]) => text !== (before[unit] ?? ''))
    .map(([unit, text]) => ({
      name: UNITS[unit]?.label ?? unit,
      now: dollars(before[unit]),
      after: dollars(text),
    }))
}

const changeText = (pct: number | null) => (pct === null ? '' : ` (${pct > 0 ? '+' : '−'}${percent(Math.abs(pct), 2)})`)

/** The changes by the new prices, with the counts of offers, sellers and buyers. */
function Touched({ preview }: { readonly preview: PagePricePreviewQuery['pricePreview'] }) {
  if (!preview) return null
  const { fields, impact } = preview
  const many = (number: number, noun: string) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`
  return (
    <Notice tone={impact.offers + impact.buyers > 0 ? 'warn' : 'good'}>
      <strong>
        {fields.length === 0
          ? 'These are the present prices.'
          : `${many(fields.length, 'price')} ${fields.length === 1 ? 'affects' : 'affect'} ${many(impact.offers, 'offer')} of ${many(impact.sellers, 'seller')} and ${many(impact.buyers, 'buyer')}.`}
      </strong>
      <span className="small">
        {fields.map(({ field, changePct }) => `${words(field)}${changeText(changePct)}`).join(', ')}
      </span>
      <span className="small">Buyers had a charged call of this model in the last 30 days.</span>
    </Notice>
  )
}

/** Adds a version of the reference prices of a model, after a preview of the changes. */
export function PutPrices({ model, current, onClose }: Props) {
  const say = useToast()
  const before = draftOf(current)
  const [draft, setDraft] = useState<Draft>({ input: '', output: '', ...before })
  const [source, setSource] = useState('')
  const [hours, setHours] = useState('')
  const put = useChange(PagePutPricesDocument, {
    onDone: ({ putPrices: { version } }) => {
      onClose()
      say(version === null ? 'The prices are unchanged.' : 'The new prices are in the catalogue.')
    },
  })
  const lines = linesOf(before, draft)
  const [seen, setSeen] = useState<string>()
  const change = { model, ...pricesOf(draft), keepOverrides: true }
  const isSeen = seen === JSON.stringify(change)
  const preview = useScreen(PagePricePreviewDocument, change, { isOn: isSeen })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isSeen) {
      setSeen(JSON.stringify(change))
      return
    }
    const at = hours.trim() === '' ? {} : { effectiveAt: Date.now() + Number(hours) * HOUR_MS }
    put.mutate({ ...change, source: source.trim(), ...at })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={`New prices of ${model}`}>
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          {Object.entries(draft).map(([unit, text]) => (
            <Input
              key={unit}
              label={`${UNITS[unit]?.label ?? unit}, US dollars`}
              inputMode="decimal"
              pattern="\d+(\.\d+)?"
              value={text}
              onChange={({ currentTarget: { value } }) => setDraft({ ...draft, [unit]: value })}
            />
          ))}
        </div>
        <div className="form-row">
          <Input
            label="Source"
            hint="The source is public"
            required
            maxLength={MAX_SOURCE_CHARS}
            value={source}
            onChange={({ currentTarget: { value } }) => setSource(value)}
          />
          <Input
            label="Effective in, hours"
            hint="Leave blank for now. Not in the past."
            type="number"
            min={0}
            max={MOST_HOURS}
            step="any"
            value={hours}
            onChange={({ currentTarget: { value } }) => setHours(value)}
          />
        </div>
        {lines.length === 0 ? <p className="muted">Nothing changes yet.</p> : <Diff lines={lines} />}
        {isSeen ? <Loaded query={preview}>{(read) => <Touched preview={read.pricePreview} />}</Loaded> : null}
        {put.error === null ? null : <ErrorNotice error={put.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={
              lines.length === 0 || source.trim() === '' || put.isPending || (isSeen && !preview.data?.pricePreview)
            }
          >
            {isSeen ? 'Set the prices' : 'Preview'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
