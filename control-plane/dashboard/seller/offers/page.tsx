import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { SellerOffersQuery } from '#control-plane/dashboard/data/documents/seller-offers.ts'
import { SellerOffersDocument } from '#control-plane/dashboard/data/documents/seller-offers.ts'
import { count } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Filters, Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
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
import type { Edited } from './edited.ts'
import type { OfferWindow, ShownOfferRow } from './offer-columns.tsx'
import { ColumnChoice, columnsOf } from './offer-columns.tsx'
import { TakenOff } from './take-off.tsx'
import type { Selection } from './use-selection.ts'
import { useSelection } from './use-selection.ts'

const STATES = [
  { value: 'all', label: 'All' },
  { value: 'active', label: 'On sale' },
  { value: 'paused', label: 'Paused' },
  { value: 'inactive', label: 'Off the market' },
] as const

const WINDOWS = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
] as const satisfies readonly { readonly value: OfferWindow; readonly label: string }[]
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

/** An offer as its dialog takes it, with the calls that it has to lose. */
const editedOf = ({ calls, ...offer }: ShownOfferRow, window: string): Edited => ({
  ...offer,
  recent: calls === null ? null : { calls, window },
})

/** The list with a row for each offer. */
function rowsOf({ offerFigures: list }: SellerOffersQuery) {
  if (list === null) return null
  const edges = list.edges.map(({ node: { offer, ...figures } }) => ({ node: { ...offer, ...figures } }))
  return { edges, pageInfo: list.pageInfo, totalCount: list.totalCount }
}

const NO_OFFERS = (
  <Empty title="No offers here">
    <p>All you need is a provider key with spare capacity.</p>
    <Link className="button" data-kind="primary" to="/seller/start">
      List capacity
    </Link>
  </Empty>
)

function Offers() {
  const search = useSearch({ from: '/seller/offers' })
  const navigate = useNavigate({ from: '/seller/offers' })
  const { window = '24h', sort, reverse, status, model, columns, after } = search
  const variables = { window, sort, isReversed: reverse === 'yes' ? true : undefined, status, model, after }
  const query = useScreen(SellerOffersDocument, variables)
  const { updates, state, setPaused } = useLive({ kind: 'offerHealth' })
  const [edited, setEdited] = useState<ShownOfferRow>()
  const whole = pagesOf(SellerOffersDocument, variables, rowsOf)
  const list = query.data === undefined ? null : rowsOf(query.data)
  const shown = (list?.edges ?? []).map(({ node }) => node)
  const selection = useSelection({ shown, readAll: whole.rows })
  const change = (next: Partial<typeof search>) => {
    // A selection belongs to its list: an offer that the filters no longer show must not be changed.
    if ('status' in next || 'model' in next) selection.clear()
    void navigate({
      search: (now) => ({ ...now, after: undefined, ...next }),
      replace: !('after' in next) || 'columns' in next,
    })
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
      <SeveralOffers selection={selection} />
      <OneOffer edited={edited} window={window} onClose={() => setEdited(undefined)} />
      <Loaded query={query}>
        {() => (
          <Card
            title="Your offers"
            isFlush
            actions={
              shown.length === 0 ? undefined : (
                <>
                  <SelectionActions selection={selection} />
                  <ColumnChoice chosen={columns} onChoose={(next) => change({ columns: next, after })} />
                </>
              )
            }
          >
            <Table
              label="Offers"
              columns={[choiceOf(selection), ...columnsOf({ edit: setEdited, capLeft, window, chosen: columns })]}
              rows={shown}
              keyOf={({ id }) => id}
              curl={curlOf(SellerOffersDocument, variables, true)}
              whole={whole}
              order={{
                now:
                  sort === undefined ? undefined : { by: sort, isDown: (sort === LOW_FIRST) === (reverse === 'yes') },
                onOrder: (next) => change(searchOf(next)),
              }}
              empty={NO_OFFERS}
              foot={
                <Pager
                  after={after}
                  next={list?.pageInfo.endCursor}
                  hasNext={list?.pageInfo.hasNextPage}
                  onPage={(to) => change({ after: to })}
                  total={list?.totalCount ?? undefined}
                />
              }
            />
          </Card>
        )}
      </Loaded>
    </Page>
  )
}

/** The dialog of the selected offers, and the result of their change. */
function SeveralOffers({ selection }: { readonly selection: Selection }) {
  const [applied, setApplied] = useState<Applied>()
  return (
    <>
      {applied === undefined ? null : <Changed key={JSON.stringify(applied)} applied={applied} onDone={setApplied} />}
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
    </>
  )
}

type OneOfferProps = {
  readonly edited: ShownOfferRow | undefined
  readonly window: OfferWindow
  readonly onClose: () => void
}

/** The dialog of one offer, and the notice of an offer that left the market. */
function OneOffer({ edited, window, onClose }: OneOfferProps) {
  const [removed, setRemoved] = useState<Edited>()
  const windowName = WINDOWS.find(({ value }) => value === window)?.label ?? ''
  return (
    <>
      {removed === undefined ? null : (
        <TakenOff key={removed.id} offer={removed} onDone={() => setRemoved(undefined)} />
      )}
      {edited === undefined ? null : (
        <EditOffer offer={editedOf(edited, windowName)} onRemoved={setRemoved} onDone={onClose} />
      )}
    </>
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
