import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Meter } from '#control-plane/dashboard/charts/meter.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageResetHealthDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import type { SellerOfferQuery } from '#control-plane/dashboard/data/documents/seller-offer.ts'
import { SellerOfferDocument } from '#control-plane/dashboard/data/documents/seller-offer.ts'
import { count, percent, short, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { routeReason } from '#control-plane/dashboard/data/route-reasons.ts'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { priceText } from '#control-plane/dashboard/market/price-text.ts'
import { healthColumns } from '#control-plane/dashboard/seller/health-columns.tsx'
import { foldHealth } from '#control-plane/dashboard/seller/health-spells.ts'
import { nextStepOf, OfferState } from '#control-plane/dashboard/seller/offer-state.tsx'
import { EditOffer } from '#control-plane/dashboard/seller/offers/edit-offer.tsx'
import type { Edited } from '#control-plane/dashboard/seller/offers/edited.ts'
import { TakenOff } from '#control-plane/dashboard/seller/offers/take-off.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { OverTime } from './over-time.tsx'

const REFRESH_MS = 15_000

export function OfferPage() {
  return (
    <Gate side="seller" title="Offer">
      <OfferScreen />
    </Gate>
  )
}

const NO_OFFER = (
  <Empty title="No such offer">
    <p>The offer was removed, or it belongs to another account.</p>
  </Empty>
)

function OfferScreen() {
  const { offer: id } = useParams({ from: '/seller/offers/$offer' })
  const { period = '24h' } = useSearch({ from: '/seller/offers/$offer' })
  const navigate = useNavigate({ from: '/seller/offers/$offer' })
  const variables = { id, window: period }
  const query = useScreen(SellerOfferDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(SellerOfferDocument, variables, true)
  const [isEdited, setEdited] = useState(false)
  const [removed, setRemoved] = useState<Edited>()
  const offer = query.data?.offer
  const { updates, state, setPaused } = useLive({ kind: 'offerHealth' })
  useReadOnNews(
    updates?.offerHealth?.find((update) => update.id === id),
    query.refetch,
  )
  return (
    <Page
      title={offer?.model ?? 'Offer'}
      about={offer === undefined || offer === null ? undefined : `At ${offer.provider}, as ${offer.providerModel}`}
      actions={
        <>
          <LiveMark state={state} onPause={setPaused} />
          <Link to="/seller/offers">All offers</Link>
          {offer === undefined || offer === null ? null : (
            <Button kind="primary" onClick={() => setEdited(true)}>
              Edit
            </Button>
          )}
        </>
      }
    >
      <Loaded query={query} missing={NO_OFFER}>
        {(data) =>
          data.offer === null ? (
            NO_OFFER
          ) : (
            <>
              {removed === undefined ? null : <TakenOff offer={removed} onDone={() => setRemoved(undefined)} />}
              <Standing offer={data.offer} />
              <Figures offer={data.offer} />
              <OverTime
                series={data.offerSeries}
                period={period}
                onPeriod={(next) =>
                  void navigate({ search: { period: next === '24h' ? undefined : next }, replace: true })
                }
              />
              <Share data={data} />
              <Health data={data} curl={curl} />
              {isEdited ? (
                <EditOffer offer={data.offer} onRemoved={setRemoved} onDone={() => setEdited(false)} />
              ) : null}
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** Reads the screen again after each live update of the offer, for example after a call has used up some of its cap. */
function useReadOnNews(news: object | undefined, read: () => unknown): void {
  const announced = useRef<string>(undefined)
  const text = news === undefined ? undefined : JSON.stringify(news)
  useEffect(() => {
    if (text === undefined || text === announced.current) return
    const isFirst = announced.current === undefined
    announced.current = text
    if (!isFirst) read()
  }, [text, read])
}

type Offer = NonNullable<SellerOfferQuery['offer']>

function Standing({ offer }: { readonly offer: Offer }) {
  const reset = useChange(PageResetHealthDocument)
  const next = nextStepOf(offer)
  if (next === undefined) return null
  return (
    <Notice tone={offer.stoppedBy === 'delisted' ? 'bad' : 'warn'}>
      <OfferState state={offer} />
      <span>{next}</span>
      {offer.stoppedBy === 'backed_off' ? (
        <Button disabled={reset.isPending} onClick={() => reset.mutate({ id: offer.id })}>
          Try it now
        </Button>
      ) : null}
      {reset.error === null ? null : <ErrorNotice error={reset.error} />}
    </Notice>
  )
}

function Figures({ offer }: { readonly offer: Offer }) {
  const price = {
    inputPer1m: offer.effectiveInputPer1m,
    outputPer1m: offer.effectiveOutputPer1m,
    mediaUnitPrice: offer.effectiveMediaUnitPrice,
  }
  const list = {
    inputPer1m: offer.directInputPer1m,
    outputPer1m: offer.directOutputPer1m,
    mediaUnitPrice: offer.directMediaUnitPrice,
  }
  const { capDailyUsd: cap, capDailyRemainingUsd: left, probeCostTotalUsd: cost } = offer
  return (
    <Stats
      figures={[
        {
          label: 'State',
          value: <OfferState state={offer} />,
          hint:
            offer.consecutiveFailures > 0 ? `${offer.consecutiveFailures} failures in a row` : 'no failures in a row',
        },
        { label: 'Discount', value: percent(offer.discount) },
        {
          label: offer.mediaUnit === null ? 'In · out per 1M tokens' : 'Price',
          value: priceText(price, offer.mediaUnit),
          hint: `list ${priceText(list, offer.mediaUnit)}`,
        },
        {
          label: 'Left today (UTC)',
          value: cap === null || left === null ? 'no cap' : <Money micro={Math.round(left * 1e6)} />,
          hint:
            cap === null || left === null ? undefined : (
              <Meter share={1 - left / cap} label={`${percent((1 - left / cap) * 100)} used`} />
            ),
        },
        {
          label: 'Test calls',
          value: cost === null ? UNKNOWN : <Money micro={Math.round(cost * 1e6)} />,
          hint:
            offer.withoutEndpoints.length === 0
              ? 'billed by your provider'
              : `Not sold on ${offer.withoutEndpoints.join(', ')}: your provider refused`,
        },
        ...(offer.payoutAddress === null
          ? []
          : [{ label: 'Paid to', value: <span className="small mono">{short(offer.payoutAddress)}</span> }]),
      ]}
    />
  )
}

/** The offer's share of the calls that considered it. */
function Share({ data: { offerShare } }: { readonly data: SellerOfferQuery }) {
  if (offerShare === null) return null
  const { won, failedOver, outranked, excluded } = offerShare
  const lostCalls = excluded.reduce((sum, { calls }) => sum + calls, 0)
  const total = won + failedOver + outranked + lostCalls
  const lines = [
    { label: 'Won', calls: won, tone: 'good' as const, about: 'served here' },
    {
      label: 'Outranked',
      calls: outranked,
      tone: 'warn' as const,
      about: 'won by another offer: a larger discount wins them',
    },
    {
      label: 'Failed over',
      calls: failedOver,
      tone: 'bad' as const,
      about: 'your offer failed, and another served the call',
    },
    ...excluded.map(({ reason, calls }) => ({
      label: 'Could not serve',
      calls,
      tone: 'bad' as const,
      about: routeReason(reason),
    })),
  ]
  return (
    <Card title="Share of calls" about="Last 24 hours, among the newest 20,000 calls of the market">
      {total === 0 ? (
        <Empty title="No calls for this model yet">
          <p>Calls for this model are counted here within a minute.</p>
        </Empty>
      ) : (
        <ul className="waterfall">
          {lines.map(({ label, calls, tone, about }) => (
            <li key={`${label} ${about}`}>
              <span>
                {label}
                <span className="sub muted small">{about}</span>
              </span>
              <Meter share={calls / total} tone={tone} label={`${label}: ${percent((calls / total) * 100)}`} />
              <span className="nowrap">{count(calls)}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function Health({ data, curl }: { readonly data: SellerOfferQuery; readonly curl: string }) {
  const now = useNow(REFRESH_MS)
  return (
    <Card title="Health" about="An outage is one row. The newest 50 lines of the log" isFlush>
      <Table
        label="Health of the offer"
        columns={healthColumns(now)}
        rows={foldHealth((data.healthLog?.edges ?? []).map(({ node }) => node))}
        most={20}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No health events">
            <p>Provider failures, back-offs and recoveries are listed here with their cause.</p>
          </Empty>
        }
      />
    </Card>
  )
}
