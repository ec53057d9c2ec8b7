import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { BuyerLogEntryQuery } from '#control-plane/dashboard/data/documents/buyer-log-entry.ts'
import { BuyerLogEntryDocument } from '#control-plane/dashboard/data/documents/buyer-log-entry.ts'
import { exactMoney, milliseconds, percent, words } from '#control-plane/dashboard/data/format.ts'
import { routeReason } from '#control-plane/dashboard/data/route-reasons.ts'
import { placeServed, routeReasonOf } from '#control-plane/dashboard/data/route-taken.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { BillTable } from '#control-plane/dashboard/market/bill-table.tsx'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { ReportProblem } from '#control-plane/dashboard/market/report-problem.tsx'
import { Settlement } from '#control-plane/dashboard/market/settlement.tsx'
import { Code, CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Badge, Money, Time } from '#control-plane/dashboard/ui/marks.tsx'
import type { Fact } from '#control-plane/dashboard/ui/page.tsx'
import { Facts, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
import { callPhases } from './call-phases.ts'

type Entry = NonNullable<BuyerLogEntryQuery['request']>
type Bill = NonNullable<BuyerLogEntryQuery['requestBill']>

const NO_CALL = <p>You have no call with this ID.</p>
/**
 * The number of looks for a call that was just made, and the pause between them: a call is booked soon after its
 * answer.
 */
const LOOK_MS = 2_000
const SOUGHT_MS = 20_000

/** Reads a call, and tries again for a call that is not booked yet. */
function useCall(id: string) {
  const [over, setOver] = useState<string>()
  const query = useScreen(BuyerLogEntryDocument, { id }, over === id ? {} : { everyMs: LOOK_MS })
  // While another call loads, the previous call is shown.
  const isFound = query.data?.request?.requestId === id
  useEffect(() => {
    const timer = setTimeout(() => setOver(id), isFound ? 0 : SOUGHT_MS)
    return () => clearTimeout(timer)
  }, [id, isFound])
  return query
}

type DrawerProps = {
  readonly id: string
  readonly nameOfKey: (id: string) => string
  readonly onClose: () => void
}

/** The record of a call: its request, its cost line by line, and the reasons for its route. */
export function CallDrawer({ id, nameOfKey, onClose }: DrawerProps) {
  const query = useCall(id)
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title="Call"
      place="right"
      actions={
        <>
          <Link to="/receipt" search={{ id }} className="button" data-kind="quiet">
            Receipt
          </Link>
          <CopyButton text={id} label="Copy id" />
          <ReportProblem id={id} />
        </>
      }
    >
      <Loaded query={query} missing={NO_CALL}>
        {({ request, requestBill: bill }) =>
          request === null ? (
            NO_CALL
          ) : (
            <>
              <Overview entry={request} bill={bill} keyName={bill?.keyId == null ? undefined : nameOfKey(bill.keyId)} />
              <Phases entry={request} />
              {bill === null ? null : <Price bill={bill} entry={request} />}
              <Attempts entry={request} />
              <Route entry={request} />
              <Raw entry={request} />
            </>
          )
        }
      </Loaded>
    </Dialog>
  )
}

type OverviewProps = {
  readonly entry: Entry
  /** Null until the call is booked. */
  readonly bill: Bill | null
  /** Undefined for a call without a key. */
  readonly keyName: string | undefined
}

/** The discount of a call that was charged: that of the bill, where there is one. */
function offList({ buyerCostMicro: cost, listCostMicro: list }: Entry, bill: Bill | null): string | undefined {
  if (list <= cost || cost <= 0) return undefined
  return `${percent(bill?.discountPct ?? (1 - cost / list) * 100, 2)} off list`
}

const attemptsText = (attempts: number) => (attempts === 1 ? '1 attempt' : `${attempts} attempts`)

function Overview({ entry, bill, keyName }: OverviewProps) {
  const { requestId, model, provider, settlementStatus, settlementError, finishReason } = entry
  const { ttftMs, durationMs, buyerCostMicro, attempts } = entry
  const facts: readonly Fact[] = [
    ['Model', <ModelLink key="model" model={model} />],
    ['Served by', provider ?? 'No provider'],
    ['Time', <Time key="time" at={entry.createdAt} />],
    ...(keyName === undefined ? [] : [['Key', keyName] satisfies Fact]),
    ...(bill?.endpoint == null ? [] : [['Endpoint', <code key="endpoint">{bill.endpoint}</code>] satisfies Fact]),
    ['Streamed', entry.streamed ? 'yes' : 'no'],
    ['Settlement', <Settlement key="state" status={settlementStatus} />],
    ...(settlementError === null ? [] : [['Refused for', words(settlementError)] satisfies Fact]),
    ...(finishReason === null ? [] : [['Finish reason', finishReason] satisfies Fact]),
    ['Request', <code key="id">{requestId}</code>],
  ]
  return (
    <>
      <Stats
        figures={[
          { label: 'Cost', value: <Money micro={buyerCostMicro} />, hint: offList(entry, bill) },
          { label: 'Took', value: milliseconds(durationMs), hint: attemptsText(attempts.length) },
          { label: 'First token', value: milliseconds(ttftMs), hint: ttftMs === null ? 'not streamed' : undefined },
        ]}
      />
      <Facts facts={facts} />
    </>
  )
}

const PHASE_FILLS = { good: 'var(--good)', bad: 'var(--bad)', plain: 'var(--series-2)' } as const

const PHASE_WORDS: Readonly<Record<string, string>> = {
  Market: 'Market: checks, routing and payment.',
  Connect: 'Connect: the wait for a new connection to the provider.',
}

/** The time of the call by phase, to scale. */
function Phases({ entry }: { readonly entry: Entry }) {
  const phases = callPhases(entry)
  const total = Math.max(entry.durationMs, 1)
  let before = 0
  return (
    <section className="grid" aria-label="Phases">
      <h3>Phases</h3>
      {phases.length === 0 ? <p className="muted">No time was measured.</p> : null}
      <ol className="waterfall">
        {phases.map(({ name, ms, tone }) => {
          const from = before
          before += ms
          return (
            <li key={name}>
              <span>{name}</span>
              <svg className="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect width={100} height={8} fill="var(--sunken)" />
                <rect
                  x={Math.min((from / total) * 100, 99.4)}
                  width={Math.max(0.6, (ms / total) * 100)}
                  height={8}
                  fill={PHASE_FILLS[tone]}
                />
              </svg>
              <span className="nowrap">{milliseconds(ms)}</span>
            </li>
          )
        })}
      </ol>
      {phases.some(({ name }) => Object.hasOwn(PHASE_WORDS, name)) ? (
        <p className="muted">
          {phases
            .map(({ name }) => PHASE_WORDS[name])
            .filter((text) => text !== undefined)
            .join(' ')}
        </p>
      ) : null}
    </section>
  )
}

type PriceProps = { readonly bill: Bill; readonly entry: Entry }

function Price({ bill, entry: { settlementStatus, priceConditions } }: PriceProps) {
  return (
    <section className="grid" aria-label="Price">
      <h3>Price</h3>
      {bill.lines.length > 0 || settlementStatus !== 'pending' ? null : (
        <p className="muted">The price shows here once the call is booked.</p>
      )}
      <BillTable bill={bill} priceConditions={priceConditions} />
    </section>
  )
}

const STATUS_WORDS: Readonly<Record<number, string>> = {
  0: 'no answer',
  400: 'refused the request',
  401: 'refused the key',
  402: 'key without credit',
  403: 'refused the key',
  404: 'does not know the model',
  408: 'timed out',
  413: 'request too large',
  422: 'refused the request',
  429: 'rate limited',
  500: 'server error',
  502: 'bad gateway',
  503: 'overloaded',
  504: 'timed out',
  529: 'overloaded',
}

/** The answer of a provider in words, with its code. */
function attemptWords(status: number): string {
  if (status >= 200 && status < 400) return 'answered'
  const known = STATUS_WORDS[status] ?? 'failed'
  return status === 0 ? known : `${known} (${status})`
}

/** The tries one after another, to scale. */
function Attempts({ entry: { attempts, durationMs } }: { readonly entry: Entry }) {
  const total = Math.max(
    durationMs,
    attempts.reduce((sum, { ms }) => sum + ms, 0),
    1,
  )
  let before = 0
  return (
    <section className="grid">
      <h3>Attempts</h3>
      {attempts.length === 0 ? <p className="muted">No attempt was made.</p> : null}
      <ol className="waterfall">
        {attempts.map(({ provider, status, ms, resent }) => {
          const from = before
          before += ms
          const isGood = status >= 200 && status < 400
          return (
            <li key={`${provider} ${from}`}>
              <span>
                {provider}{' '}
                <span className="muted">{resent ? `${attemptWords(status)}, sent twice` : attemptWords(status)}</span>
              </span>
              <svg
                className="bar"
                viewBox="0 0 100 8"
                preserveAspectRatio="none"
                role="img"
                aria-label={milliseconds(ms)}
              >
                <rect width={100} height={8} fill="var(--sunken)" />
                <rect
                  x={(from / total) * 100}
                  width={Math.max(0.6, (ms / total) * 100)}
                  height={8}
                  fill={isGood ? 'var(--good)' : 'var(--bad)'}
                />
              </svg>
              <span className="nowrap">{milliseconds(ms)}</span>
            </li>
          )
        })}
      </ol>
      {attempts.some(({ resent }) => resent) ? (
        <p className="muted">
          Sent twice: the provider closed an idle connection as the request left, so the market sent the request again.
        </p>
      ) : null}
    </section>
  )
}

function Route({ entry: { routing, attempts, settlementStatus } }: { readonly entry: Entry }) {
  if (routing === null) {
    return (
      <section className="grid" aria-label="Route">
        <h3>Route</h3>
        <p className="muted">
          {settlementStatus === 'pending'
            ? 'The route shows once the call is booked.'
            : 'This call has no record of its route. Calls that begin a long job have none.'}
        </p>
      </section>
    )
  }
  const { offers, excluded, affinity } = routing
  const served = placeServed({ offers, attempts })
  return (
    <section className="grid" aria-label="Route">
      <h3>Route</h3>
      {affinity === null ? (
        <p>{routeReasonOf({ offers, attempts })}</p>
      ) : (
        <p>
          The conversation was cached at <code>{affinity.offer}</code>, which saved {exactMoney(affinity.savingMicro)}.
        </p>
      )}
      <p className="muted">Offers that could serve the call, in the order of attempts, with the estimated cost.</p>
      <table className="table sum">
        <tbody>
          {offers.map(({ offer, provider: at, estimateMicro }, place) => (
            <tr key={offer}>
              <th scope="row">
                {place + 1}. {at} {place === served ? <Badge tone="good">served</Badge> : null}
                <span className="sub mono">{offer}</span>
              </th>
              <td>{exactMoney(estimateMicro)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {excluded.length === 0 ? null : (
        <>
          <p className="muted">Offers ruled out:</p>
          <ul>
            {excluded.map(({ offer, reason }) => (
              <li key={offer}>
                <code>{offer}</code>: {routeReason(reason)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

/** The record as the API answers it. */
function Raw({ entry }: { readonly entry: Entry }) {
  return (
    <details className="twin">
      <summary>Raw record</summary>
      <Code label="Raw record" text={JSON.stringify(entry, null, 2)} />
    </details>
  )
}
