import { Link } from '@tanstack/react-router'
import type { SellerOffersQuery } from '#control-plane/dashboard/data/documents/seller-offers.ts'
import { compact, milliseconds, percent } from '#control-plane/dashboard/data/format.ts'
import { priceFile, unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { nextStepOf, OfferState } from '#control-plane/dashboard/seller/offer-state.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Check } from '#control-plane/dashboard/ui/fields.tsx'
import { Ago, Money, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'

export type OfferWindow = '24h' | '7d'
type OfferNode = NonNullable<SellerOffersQuery['offerFigures']>['edges'][number]['node']
/** An offer with its figures. */
export type ShownOfferRow = OfferNode['offer'] & Omit<OfferNode, 'offer'>

/** The columns that a seller may add. The file of the table has them at all times. */
const MORE_COLUMNS = [
  { value: 'gross', label: 'Gross and fee' },
  { value: 'cap', label: 'Left today (UTC)' },
  { value: 'changed', label: 'Last change' },
] as const
type MoreColumn = (typeof MORE_COLUMNS)[number]['value']

/** The added columns in an address: their names with commas between them. */
const chosenIn = (text: string | undefined): ReadonlySet<MoreColumn> => {
  const names = text?.split(',') ?? []
  return new Set(MORE_COLUMNS.map(({ value }) => value).filter((value) => names.includes(value)))
}

type ChoiceProps = {
  readonly chosen: string | undefined
  readonly onChoose: (chosen: string | undefined) => void
}

/** The choice of further columns, which the address keeps. */
export function ColumnChoice({ chosen: text, onChoose }: ChoiceProps) {
  const dialog = useDialog()
  const chosen = chosenIn(text)
  const turn = (name: MoreColumn, isOn: boolean) => {
    const names = MORE_COLUMNS.map(({ value }) => value).filter((value) => (value === name ? isOn : chosen.has(value)))
    onChoose(names.length === 0 ? undefined : names.join(','))
  }
  return (
    <>
      <Button onClick={dialog.open}>Columns</Button>
      <Dialog dialog={dialog} title="Columns">
        <p className="muted">Add columns to the table. Its CSV has all of them.</p>
        {MORE_COLUMNS.map(({ value, label }) => (
          <Check key={value} label={label} isOn={chosen.has(value)} onChange={(isOn) => turn(value, isOn)} />
        ))}
        <div className="dialog-foot">
          <Button kind="primary" onClick={dialog.close}>
            Done
          </Button>
        </div>
      </Dialog>
    </>
  )
}

type CapLeft = (id: string, before: number | null) => number | null

const toMicroUsd = (dollars: number) => Math.round(dollars * 1e6)

const pricesOf = (offer: ShownOfferRow) => ({
  inputPer1m: offer.effectiveInputPer1m,
  outputPer1m: offer.effectiveOutputPer1m,
  mediaUnitPrice: offer.effectiveMediaUnitPrice,
})

/** Calls, earnings and latency of an offer in the window. */
const figureColumns = (windowName: string, isSplit: boolean): readonly Column<ShownOfferRow>[] => [
  {
    label: `Calls ${windowName}`,
    order: 'calls',
    isNumber: true,
    cell: ({ calls }) => (calls === null ? <Unknown /> : compact(calls)),
    text: ({ calls }) => calls,
  },
  ...(isSplit
    ? ([
        {
          label: `Gross ${windowName}`,
          isNumber: true,
          cell: ({ grossMicro }) => <Money micro={grossMicro} />,
          text: ({ grossMicro }) => grossMicro,
          unit: 'microUsd',
          file: [],
        },
        {
          label: `Fee ${windowName}`,
          isNumber: true,
          cell: ({ feeMicro }) => <Money micro={feeMicro} />,
          text: ({ feeMicro }) => feeMicro,
          unit: 'microUsd',
          file: [],
        },
      ] satisfies readonly Column<ShownOfferRow>[])
    : []),
  {
    label: `Net ${windowName}`,
    order: 'net',
    isNumber: true,
    cell: ({ netMicro }) => <Money micro={netMicro} />,
    text: ({ netMicro }) => netMicro,
    unit: 'microUsd',
    file: [
      { label: `Gross ${windowName}`, text: ({ grossMicro }) => grossMicro, unit: 'microUsd' },
      { label: `Fee ${windowName}`, text: ({ feeMicro }) => feeMicro, unit: 'microUsd' },
      { label: `Net ${windowName}`, text: ({ netMicro }) => netMicro, unit: 'microUsd' },
    ],
  },
  {
    label: `First token ${windowName}`,
    order: 'latency',
    isNumber: true,
    isLowFirst: true,
    cell: ({ ttftP50Ms, ttftSamples }) => (
      <span title={ttftP50Ms === null ? undefined : `median of ${compact(ttftSamples ?? 0)} calls`}>
        {milliseconds(ttftP50Ms)}
      </span>
    ),
    text: ({ ttftP50Ms }) => ttftP50Ms,
    unit: 'ms',
  },
]

/** The cap that is left, and the last change: columns that a seller adds. */
const rareColumns = (capLeft: CapLeft, chosen: ReadonlySet<MoreColumn>): readonly Column<ShownOfferRow>[] => [
  ...(chosen.has('cap')
    ? ([
        {
          label: 'Left today (UTC)',
          isNumber: true,
          cell: ({ id, capDailyUsd, capDailyRemainingUsd }) => {
            const left = capLeft(id, capDailyRemainingUsd)
            if (capDailyUsd === null || left === null) return <span className="muted">no cap</span>
            return (
              <>
                <Money micro={toMicroUsd(left)} />
                <span className="sub">
                  of <Money micro={toMicroUsd(capDailyUsd)} />
                </span>
              </>
            )
          },
          text: ({ capDailyRemainingUsd }) => capDailyRemainingUsd,
          unit: 'usd',
          file: [],
        },
      ] satisfies readonly Column<ShownOfferRow>[])
    : []),
  ...(chosen.has('changed')
    ? ([
        {
          label: 'Last change',
          isNumber: true,
          cell: ({ updatedAt }) => <Ago at={updatedAt} />,
          text: ({ updatedAt }) => updatedAt,
          unit: 'time',
          file: [],
        },
      ] satisfies readonly Column<ShownOfferRow>[])
    : []),
]

type ColumnsOf = {
  readonly edit: (offer: ShownOfferRow) => void
  readonly capLeft: CapLeft
  readonly window: OfferWindow
  /** The added columns, as the address has them. */
  readonly chosen: string | undefined
}

/** The columns of the list of offers, without the boxes that select. */
export function columnsOf({ edit, capLeft, window, chosen: text }: ColumnsOf): readonly Column<ShownOfferRow>[] {
  const chosen = chosenIn(text)
  return [
    {
      label: 'Model',
      phone: 'title',
      cell: ({ id, model, provider, label }) => (
        <>
          <Link to="/seller/offers/$offer" params={{ offer: id }} search={{}}>
            {model}
          </Link>
          <span className="sub">{label === null ? provider : `${provider} · ${label}`}</span>
        </>
      ),
      text: ({ model }) => model,
    },
    {
      label: 'State',
      cell: (offer) => (
        <>
          <OfferState state={offer} />
          <span className="sub">{nextStepOf(offer)}</span>
        </>
      ),
      text: ({ status, stoppedBy }) => stoppedBy ?? status,
    },
    {
      label: 'Discount',
      isNumber: true,
      cell: ({ discount }) => percent(discount),
      text: ({ discount }) => discount,
      unit: 'percent',
      file: [
        { label: 'Discount', text: ({ discount }) => discount, unit: 'percent' },
        { label: 'Last change', text: ({ updatedAt }) => updatedAt, unit: 'time' },
        { label: 'Left today', text: ({ capDailyRemainingUsd }) => capDailyRemainingUsd, unit: 'usd' },
      ],
    },
    {
      label: 'Price',
      phone: 'lead',
      isNumber: true,
      cell: (offer) => unitPriceText(pricesOf(offer), offer.mediaUnit),
      text: ({ effectiveInputPer1m, effectiveMediaUnitPrice }) => effectiveInputPer1m ?? effectiveMediaUnitPrice,
      file: priceFile(pricesOf, ({ mediaUnit }) => mediaUnit),
    },
    ...figureColumns(window === '24h' ? '24 h' : '7 days', chosen.has('gross')),
    ...rareColumns(capLeft, chosen),
    {
      label: 'Change',
      // On a phone a press on the row opens the offer, which can be edited there.
      phone: 'none',
      cell: (offer) => (
        <Button onClick={() => edit(offer)} aria-label={`Edit the offer of ${offer.model}`}>
          Edit
        </Button>
      ),
    },
  ]
}
