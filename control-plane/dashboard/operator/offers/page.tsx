import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageDelistOfferDocument, PageRestoreOfferDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorOffersQuery } from '#control-plane/dashboard/data/documents/operator-offers.ts'
import { OperatorOffersDocument } from '#control-plane/dashboard/data/documents/operator-offers.ts'
import { compact, count, percent, short, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Filters, Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Badge, Money, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

const CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'yes', label: 'Delisted' },
  { value: 'no', label: 'Not delisted' },
] as const

export function MarketOffersPage() {
  return (
    <Gate side="operator" title="Offers of the market">
      <Offers />
    </Gate>
  )
}

type Row = NonNullable<OperatorOffersQuery['anyOffers']>['edges'][number]['node']

function Offers() {
  const search = useSearch({ from: '/operator/offers' })
  const navigate = useNavigate({ from: '/operator/offers' })
  const { model, provider, delisted, after } = search
  const variables = { model, provider, after, ...(delisted === undefined ? {} : { isDelisted: delisted === 'yes' }) }
  const query = useScreen(OperatorOffersDocument, variables)
  const [moved, setMoved] = useState<Row>()
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, after: undefined, ...next }), replace: !('after' in next) })
  return (
    <Page
      title="Offers of the market"
      about="All offers, their sellers and their traffic. A failure is an attempt that the provider did not answer. A delisted offer stops taking calls at once."
    >
      <Filters>
        <Search
          label="Model"
          placeholder="gpt-5"
          value={model ?? ''}
          onSearch={(text) => change({ model: text === '' ? undefined : text })}
        />
        <Search
          label="Provider"
          placeholder="openai"
          value={provider ?? ''}
          onSearch={(text) => change({ provider: text === '' ? undefined : text })}
        />
        <div className="field">
          <span>Shown</span>
          <Segments
            label="Shown"
            value={delisted ?? 'all'}
            choices={CHOICES}
            onChoose={(next) => change({ delisted: next === 'all' ? undefined : next })}
          />
        </div>
      </Filters>
      <Loaded query={query} missing={NO_OFFER}>
        {(data) => (
          <Card title="Offers" about="Calls and failures of the last 24 hours" isFlush>
            <Table
              label="Offers of the market"
              columns={columnsOf(setMoved)}
              rows={(data.anyOffers?.edges ?? []).map(({ node }) => node)}
              keyOf={({ id }) => id}
              curl={curlOf(OperatorOffersDocument, variables, true)}
              whole={pagesOf(OperatorOffersDocument, variables, (read) => read.anyOffers)}
              empty={NO_OFFER}
              foot={
                <Pager
                  after={after}
                  next={data.anyOffers?.pageInfo.endCursor}
                  hasNext={data.anyOffers?.pageInfo.hasNextPage}
                  onPage={(to) => change({ after: to })}
                />
              }
            />
          </Card>
        )}
      </Loaded>
      {moved === undefined ? null : <Move offer={moved} onClose={() => setMoved(undefined)} />}
    </Page>
  )
}

/** Also shown when the market has no model of the requested name. */
const NO_OFFER = (
  <Empty title="No offer fits">
    <p>Try fewer filters.</p>
  </Empty>
)

const isDelisted = ({ delistedReason }: Row) => delistedReason !== null

/** The words of the page for the states of an offer. */
const STATES = { active: 'on sale', paused: 'paused', inactive: 'off the market' } as const

const stateOf = (offer: Row) => (isDelisted(offer) ? 'delisted' : STATES[offer.status])

function columnsOf(move: (offer: Row) => void): readonly Column<Row>[] {
  return [
    {
      label: 'Model',
      cell: ({ model, id }) => (
        <span title={id}>
          <ModelLink model={model} />
        </span>
      ),
      text: ({ model }) => model,
      file: [
        { label: 'Model', text: ({ model }) => model },
        { label: 'Offer', text: ({ id }) => id },
      ],
    },
    {
      label: 'Provider',
      cell: ({ provider, trusted }) => (
        <>
          {provider} {trusted ? null : <Badge tone="warn">not trusted</Badge>}
        </>
      ),
      text: ({ provider }) => provider,
    },
    {
      label: 'Seller',
      cell: ({ wallet, sellerAccount }) => (
        <Link to="/operator/support" search={{ account: sellerAccount }} title={wallet ?? sellerAccount}>
          <code className="nowrap">{short(wallet ?? sellerAccount)}</code>
        </Link>
      ),
      text: ({ wallet, sellerAccount }) => wallet ?? sellerAccount,
    },
    {
      label: 'State',
      cell: (offer) => (
        <>
          {isDelisted(offer) || offer.status !== 'active' ? (
            <Badge tone={isDelisted(offer) ? 'bad' : 'plain'}>{stateOf(offer)}</Badge>
          ) : (
            stateOf(offer)
          )}
          {offer.delistedReason === null ? null : <span className="sub">{offer.delistedReason}</span>}
        </>
      ),
      text: stateOf,
    },
    {
      label: 'Calls 24 h',
      isNumber: true,
      cell: ({ calls }) => (calls === null ? <Unknown /> : compact(calls)),
      text: ({ calls }) => calls,
    },
    {
      label: 'Failures 24 h',
      isNumber: true,
      cell: ({ calls, failures }) =>
        failures === null ? (
          <Unknown />
        ) : failures === 0 ? (
          0
        ) : (
          <Badge tone={failures > (calls ?? 0) ? 'bad' : 'warn'}>{compact(failures)}</Badge>
        ),
      text: ({ failures }) => failures,
    },
    {
      label: 'Discount',
      isNumber: true,
      cell: ({ discountPct, capDailyMicro }) => (
        <>
          {percent(discountPct)}
          {capDailyMicro === null ? null : (
            <span className="sub">
              cap <Money micro={capDailyMicro} /> a day
            </span>
          )}
        </>
      ),
      text: ({ discountPct }) => discountPct,
      file: [
        { label: 'Discount', text: ({ discountPct }) => discountPct, unit: 'percent' },
        { label: 'Cap a day', text: ({ capDailyMicro }) => capDailyMicro, unit: 'microUsd' },
        { label: 'Listed', text: ({ createdAt }) => createdAt, unit: 'time' },
      ],
    },
    {
      label: 'Change',
      cell: (offer) => (
        <Button onClick={() => move(offer)} aria-label={`${isDelisted(offer) ? 'Restore' : 'Delist'} ${offer.id}`}>
          {isDelisted(offer) ? 'Restore' : 'Delist'}
        </Button>
      ),
    },
  ]
}

function Move({ offer, onClose }: { readonly offer: Row; readonly onClose: () => void }) {
  const say = useToast()
  const done = (text: string) => () => {
    onClose()
    say(text)
  }
  const delist = useChange(PageDelistOfferDocument, { onDone: done('The offer is off the market.') })
  const restore = useChange(PageRestoreOfferDocument, {
    onDone: done('Restored. The seller can put the offer on sale again.'),
  })
  const isBack = isDelisted(offer)
  const change = isBack ? restore : delist
  return (
    <Confirm
      title={`${isBack ? 'Restore' : 'Delist'} ${offer.model} at ${offer.provider}?`}
      about={
        isBack
          ? 'The offer comes back paused. Its seller decides when to sell again.'
          : 'The offer gets no more calls. Its seller sees the reason, and cannot restore the offer.'
      }
      lines={[
        {
          name: 'State',
          now: isBack ? `delisted: ${offer.delistedReason}` : stateOf(offer),
          after: isBack ? 'paused' : 'delisted',
        },
        ...(isBack
          ? []
          : [{ name: 'Calls in 24 hours', now: offer.calls === null ? UNKNOWN : count(offer.calls), after: '0' }]),
      ]}
      action={isBack ? 'Restore' : 'Delist'}
      isDanger={!isBack}
      needsReason
      isBusy={change.isPending}
      error={change.error}
      onDo={(reason) => change.mutate({ id: offer.id, reason })}
      onClose={onClose}
    />
  )
}
