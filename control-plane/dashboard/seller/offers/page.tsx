import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { SellerOffersQuery } from '#control-plane/dashboard/data/documents/seller-offers.ts'
import { SellerOffersDocument } from '#control-plane/dashboard/data/documents/seller-offers.ts'
import { compact, count, milliseconds, percent } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { priceFile, unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { nextStepOf, OfferState } from '#control-plane/dashboard/seller/offer-state.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Filters, Search, Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Ago, Money, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import type { RowOrder } from '#control-plane/dashboard/ui/row-order.ts'
import { Empty, ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import type { Applied } from './bulk-edit.tsx'
import { applySteps, BulkEdit, backOf } from './bulk-edit.tsx'
import { EditOffer } from './edit-offer.tsx'
import type { Selection } from './use-selection.ts'
import { useSelection } from './use-selection.ts'

const STATES = [
  { value: 'all', label: 'All' },
  { value: 'active', label: 'Active' },
  { value: 'paused', label: 'Paused' },
  { value: 'inactive', label: 'Inactive' },
] as const

const WINDOWS = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
] as const
type OfferWindow = (typeof WINDOWS)[number]['value']
const ORDERS = ['calls', 'net', 'latency'] as const
/** The order in which a low value is the better one. */
const LOW_FIRST = 'latency'

/** The address of an order. Without one the newest offers come first. */
function searchOf(order: RowOrder | undefined) {
  const sort = ORDERS.find((one) => one === order?.by)
  if (order === undefined || sort === undefined) return { sort: undefined, reverse: undefined }
  return { sort, reverse: order.isDown === (sort === LOW_FIRST) ? ('yes' as const) : undefined }
}

export function OffersPage() {
  return (
    <Gate side="seller" title="Offers">
      <Offers />
    </Gate>
  )
}

type OfferList = NonNullable<SellerOffersQuery['offerFigures']>
type OfferNode = OfferList['edges'][number]['node']
/** An offer with its figures. */
export type ShownOfferRow = OfferNode['offer'] & Omit<OfferNode, 'offer'>

/** The list with a row for each offer. */
function rowsOf({ offerFigures: list }: SellerOffersQuery) {
  if (list === null) return null
  const edges = list.edges.map(({ node: { offer, ...figures } }) => ({ node: { ...offer, ...figures } }))
  return { edges, pageInfo: list.pageInfo }
}

function Offers() {
  const search = useSearch({ from: '/seller/offers' })
  const navigate = useNavigate({ from: '/seller/offers' })
  const { window = '24h', sort, reverse, status, model, after } = search
  const variables = { window, sort, isReversed: reverse === 'yes' ? true : undefined, status, model, after }
  const query = useScreen(SellerOffersDocument, variables)
  const { updates, state, setPaused } = useLive({ kind: 'offerHealth' })
  const [edited, setEdited] = useState<ShownOfferRow>()
  const whole = pagesOf(SellerOffersDocument, variables, rowsOf)
  const list = query.data === undefined ? null : rowsOf(query.data)
  const shown = (list?.edges ?? []).map(({ node }) => node)
  const selection = useSelection({ shown, readAll: whole.rows })
  const [applied, setApplied] = useState<Applied>()
  const change = (next: Partial<typeof search>) => {
    // A selection belongs to its list: an offer that the filters no longer show must not be changed.
    if ('status' in next || 'model' in next) selection.clear()
    void navigate({ search: (now) => ({ ...now, after: undefined, ...next }), replace: !('after' in next) })
  }
  const capLeft = (id: string, before: number | null) =>
    updates?.offerHealth?.find((offer) => offer.id === id)?.capDailyRemainingUsd ?? before
  return (
    <Page
      title="Offers"
      about="What you sell, at which price, and what needs your attention."
      actions={
        <>
          <LiveMark state={state} onPause={setPaused} />
          <Link className="button" data-kind="primary" to="/seller/start">
            List capacity
          </Link>
        </>
      }
    >
      <OfferFilters search={search} window={window} onChange={change} />
      {applied === undefined ? null : <Changed key={JSON.stringify(applied)} applied={applied} onDone={setApplied} />}
      <Loaded query={query}>
        {() => (
          <Card
            title="Your offers"
            isFlush
            actions={shown.length === 0 ? undefined : <SelectionActions selection={selection} />}
          >
            <Table
              label="Offers"
              columns={[...columnsOf(setEdited, capLeft, window), choiceOf(selection)]}
              rows={shown}
              keyOf={({ id }) => id}
              curl={curlOf(SellerOffersDocument, variables, true)}
              whole={whole}
              order={{
                now:
                  sort === undefined ? undefined : { by: sort, isDown: (sort === LOW_FIRST) === (reverse === 'yes') },
                onOrder: (next) => change(searchOf(next)),
              }}
              empty={
                <Empty title="No offers here">
                  <p>All you need is a provider key with spare capacity.</p>
                  <Link className="button" data-kind="primary" to="/seller/start">
                    List capacity
                  </Link>
                </Empty>
              }
              foot={
                <Pager
                  after={after}
                  next={list?.pageInfo.endCursor}
                  hasNext={list?.pageInfo.hasNextPage}
                  onPage={(to) => change({ after: to })}
                />
              }
            />
          </Card>
        )}
      </Loaded>
      {selection.opened === undefined ? null : (
        <BulkEdit
          offers={selection.opened}
          onDone={(result) => {
            selection.close()
            selection.clear()
            setApplied(result)
          }}
          onClose={selection.close}
        />
      )}
      {edited === undefined ? null : <EditOffer offer={edited} onDone={() => setEdited(undefined)} />}
    </Page>
  )
}

type OfferFiltersProps = {
  readonly search: {
    readonly model?: string | undefined
    readonly status?: ShownOfferRow['status'] | undefined
  }
  readonly window: OfferWindow
  readonly onChange: (next: {
    model?: string | undefined
    status?: ShownOfferRow['status'] | undefined
    window?: OfferWindow | undefined
  }) => void
}

function OfferFilters({ search, window, onChange: change }: OfferFiltersProps) {
  const { model, status } = search
  return (
    <Filters>
      <Search
        label="Model"
        value={model ?? ''}
        onSearch={(text) => change({ model: text === '' ? undefined : text })}
      />
      <div className="field">
        <span>State</span>
        <Segments
          label="State"
          value={status ?? 'all'}
          choices={STATES}
          onChoose={(next) => change({ status: next === 'all' ? undefined : next })}
        />
      </div>
      <div className="field">
        <span>Figures of the last</span>
        <Segments
          label="Figures of the last"
          value={window}
          choices={WINDOWS}
          onChoose={(next) => change({ window: next === '24h' ? undefined : next })}
        />
      </div>
      <SavedViews screen="offers" search={search} />
    </Filters>
  )
}

/** The buttons over the list that select all of it and change what is selected. */
function SelectionActions({ selection }: { readonly selection: Selection }) {
  const { ids, isCut, isReading, error } = selection
  return (
    <>
      {error === null ? null : <ErrorNotice error={error} />}
      {isCut ? <span className="muted">{`The first ${count(ids.size)} offers are selected.`}</span> : null}
      {ids.size === 0 ? null : (
        <Button kind="quiet" onClick={selection.clear}>
          Clear selection
        </Button>
      )}
      <Button disabled={isReading} onClick={selection.selectAll}>
        Select all
      </Button>
      <Button disabled={ids.size === 0 || isReading} onClick={selection.open}>
        {ids.size === 0 ? 'Change selected' : `Change ${count(ids.size)} selected`}
      </Button>
    </>
  )
}

/** The boxes that select offers for a change of several. */
function choiceOf({ ids, select }: Selection): Column<ShownOfferRow> {
  return {
    label: 'Select',
    cell: ({ id, model }) => (
      <input
        type="checkbox"
        className="choice"
        aria-label={`Select the offer of ${model}`}
        checked={ids.has(id)}
        onChange={({ currentTarget: { checked } }) => select(id, checked)}
      />
    ),
  }
}

type ChangedProps = { readonly applied: Applied; readonly onDone: (applied: Applied | undefined) => void }

/** The result of a change of several offers, with a button to undo it. */
function Changed({ applied: { done, failed }, onDone }: ChangedProps) {
  const cache = useQueryClient()
  const undo = useMutation({
    mutationFn: () => applySteps(backOf(done), () => undefined),
    onSuccess: async (undone) => {
      await cache.invalidateQueries()
      onDone(undone)
    },
  })
  return (
    <Notice tone={failed.length > 0 ? 'warn' : 'good'}>
      <span>{`${done.length} ${done.length === 1 ? 'offer' : 'offers'} changed.`}</span>
      {failed.map((text) => (
        <span key={text}>{text}</span>
      ))}
      {done.length === 0 ? null : (
        <Button disabled={undo.isPending} onClick={() => undo.mutate()}>
          Undo
        </Button>
      )}
      <Button kind="quiet" onClick={() => onDone(undefined)}>
        Done
      </Button>
    </Notice>
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
const figureColumns = (windowName: string): readonly Column<ShownOfferRow>[] => [
  {
    label: `Calls ${windowName}`,
    order: 'calls',
    isNumber: true,
    cell: ({ calls }) => (calls === null ? <Unknown /> : compact(calls)),
    text: ({ calls }) => calls,
  },
  {
    label: `Net ${windowName}`,
    order: 'net',
    isNumber: true,
    cell: ({ netMicro, grossMicro }) => (
      <>
        <Money micro={netMicro} />
        <span className="sub">
          gross <Money micro={grossMicro} />
        </span>
      </>
    ),
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
      <>
        {milliseconds(ttftP50Ms)}
        {ttftP50Ms === null ? null : <span className="sub">p50 of {compact(ttftSamples ?? 0)}</span>}
      </>
    ),
    text: ({ ttftP50Ms }) => ttftP50Ms,
    unit: 'ms',
  },
]

function columnsOf(
  edit: (offer: ShownOfferRow) => void,
  capLeft: CapLeft,
  window: OfferWindow,
): readonly Column<ShownOfferRow>[] {
  return [
    {
      label: 'Model',
      cell: ({ id, model, provider, label }) => (
        <>
          <Link to="/seller/offers/$offer" params={{ offer: id }}>
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
      cell: ({ discount, updatedAt }) => (
        <>
          {percent(discount)}
          <span className="sub">
            changed <Ago at={updatedAt} />
          </span>
        </>
      ),
      text: ({ discount }) => discount,
      unit: 'percent',
      file: [
        { label: 'Discount', text: ({ discount }) => discount, unit: 'percent' },
        { label: 'Last change', text: ({ updatedAt }) => updatedAt, unit: 'time' },
      ],
    },
    {
      label: 'Price, in · out',
      phone: 'lead',
      isNumber: true,
      cell: (offer) => unitPriceText(pricesOf(offer), offer.mediaUnit),
      text: ({ effectiveInputPer1m, effectiveMediaUnitPrice }) => effectiveInputPer1m ?? effectiveMediaUnitPrice,
      file: priceFile(pricesOf, ({ mediaUnit }) => mediaUnit),
    },
    ...figureColumns(window === '24h' ? '24 h' : '7 days'),
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
    },
    {
      label: 'Change',
      cell: (offer) => (
        <Button onClick={() => edit(offer)} aria-label={`Edit the offer of ${offer.model}`}>
          Edit
        </Button>
      ),
    },
  ]
}
