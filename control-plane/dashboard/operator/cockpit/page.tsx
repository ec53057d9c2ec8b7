import { Link } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorCockpitQuery } from '#control-plane/dashboard/data/documents/operator-cockpit.ts'
import { OperatorCockpitDocument } from '#control-plane/dashboard/data/documents/operator-cockpit.ts'
import { compact, count, milliseconds, percent, toMicro, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { holdCause } from '#control-plane/dashboard/operator/hold-cause.ts'
import { Exact } from '#control-plane/dashboard/ui/exact.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, Notice, NotSummed, Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { Figures } from './figures.tsx'

const REFRESH_MS = 5_000
/** The number of holds that the query asks for. */
const HOLDS = 50

export function CockpitPage() {
  return (
    <Gate side="operator" title="Cockpit">
      <Cockpit />
    </Gate>
  )
}

function Cockpit() {
  const query = useScreen(OperatorCockpitDocument, {}, { everyMs: REFRESH_MS })
  const curl = curlOf(OperatorCockpitDocument, {}, true)
  return (
    <Page
      title="Cockpit"
      about="The state of the ledger, the figures of a period, and the market now, read every five seconds."
    >
      {query.data === undefined ? <Skeleton height="3.25rem" /> : <Invariants data={query.data} />}
      <Figures />
      <Loaded query={query}>
        {(data) => (
          <>
            <Holds data={data} />
            <Processes data={data} curl={curl} />
            <Providers data={data} curl={curl} />
            <div className="grid two">
              <Queues data={data} curl={curl} />
              <Rails data={data} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Green, or the problem and its start. */
function Invariants({ data: { moneyState } }: { readonly data: OperatorCockpitQuery }) {
  if (moneyState === null) return <Notice tone="warn">The state of the ledger is not known now.</Notice>
  const { runs, differences, payoutHolds } = moneyState
  const [last] = runs
  const isBroken = last !== undefined && (last.breaches.length > 0 || last.failure !== null)
  const isBad = isBroken || differences.length > 0
  return (
    <Notice tone={isBad ? 'bad' : last === undefined ? 'warn' : 'good'}>
      <strong>
        {isBad
          ? 'The ledger differs.'
          : last === undefined
            ? 'The ledger has not been checked yet.'
            : 'Every checked invariant of the ledger holds.'}
      </strong>
      {last === undefined ? null : (
        <span className="small">
          checked <Ago at={last.startedAt} /> in {milliseconds(last.tookMs)}
        </span>
      )}
      {(last?.breaches ?? []).map((breach) => (
        <Badge key={breach} tone="bad">
          {breach}
        </Badge>
      ))}
      {last?.failure === null || last === undefined ? null : <Badge tone="bad">{last.failure}</Badge>}
      {differences.map(({ kind, subject, timesSeen }) => (
        <Badge key={`${kind} ${subject}`} tone="bad">{`${words(kind)} at ${subject}, seen ${timesSeen} times`}</Badge>
      ))}
      {payoutHolds.map(({ id, reason }) => (
        <Badge key={id} tone="warn">{`Payouts wait: ${holdCause(reason)}`}</Badge>
      ))}
      <Link to="/operator/invariants">See all invariants</Link>
    </Notice>
  )
}

function Holds({ data }: { readonly data: OperatorCockpitQuery }) {
  const holds = data.openHolds
  const held = holds?.reduce((sum, { amountMicro }) => sum + toMicro(amountMicro), 0n)
  const overdue = holds?.filter(({ isOverdue }) => isOverdue).length
  // No more holds are read, so the number is a lower bound.
  const more = holds?.length === HOLDS ? ' or more' : ''
  return (
    <Stats
      figures={[
        {
          label: 'Held now',
          value: <Exact micro={held} />,
          hint: holds === null ? undefined : `${holds.length}${more} open ${holds.length === 1 ? 'hold' : 'holds'}`,
        },
        {
          label: 'Overdue holds now',
          value: overdue ?? UNKNOWN,
          hint: <Link to="/operator/money">See open holds</Link>,
        },
        {
          label: 'Events waiting now',
          value: data.poisonedEvents?.length ?? UNKNOWN,
          hint: 'that could not be booked',
        },
      ]}
    />
  )
}

const BYTES_OF_MB = 1_000_000
const megabytes = (bytes: number) => `${(bytes / BYTES_OF_MB).toFixed(1)} MB`

/** Payment methods in words, by their names at the market. */
const RAILS: ReadonlyMap<string, string> = new Map([
  ['credit', 'Credit'],
  ['x402-upto', 'x402, up to a price'],
  ['x402-exact', 'x402, exact price'],
  ['mpp', 'MPP'],
])

function Rails({ data: { rails, snapshotState } }: { readonly data: OperatorCockpitQuery }) {
  const { isWhole = false, documents = 0, bytes = 0, behind = [] } = snapshotState ?? {}
  return (
    <Card title="Payment methods and snapshot" about="The snapshot is the market as data planes route calls by it">
      <Facts
        facts={[
          ...(rails ?? []).map(
            ({ rail, state }) =>
              [
                RAILS.get(rail) ?? rail,
                state === 'up' ? (
                  'Takes payments'
                ) : (
                  <Badge key={rail} tone={state === 'down' ? 'bad' : 'warn'}>
                    {words(state)}
                  </Badge>
                ),
              ] as const,
          ),
          [
            'Snapshot',
            snapshotState === null ? (
              UNKNOWN
            ) : isWhole && behind.length === 0 ? (
              `Up to date: ${count(documents)} documents, ${megabytes(bytes)}`
            ) : (
              <Badge key="snapshot" tone="warn">
                {isWhole ? `${count(behind.length)} of ${count(documents)} documents are behind` : 'incomplete'}
              </Badge>
            ),
          ],
          ...(behind.length === 0 ? [] : [['Behind', behind.join(', ')] as const]),
        ]}
      />
    </Card>
  )
}

type ProviderRow = NonNullable<OperatorCockpitQuery['providers']>[number]

const PROVIDER_COLUMNS: readonly Column<ProviderRow>[] = [
  {
    label: 'Provider',
    cell: ({ provider }) =>
      provider === null ? (
        UNKNOWN
      ) : (
        <Link to="/operator/offers" search={{ provider }}>
          {provider}
        </Link>
      ),
    text: ({ provider }) => provider,
  },
  { label: 'Served 24 h', isNumber: true, cell: ({ calls }) => compact(calls), text: ({ calls }) => calls },
  {
    label: 'Uptime 24 h',
    phone: 'lead',
    isNumber: true,
    cell: ({ uptimePct }) => percent(uptimePct, 2),
    text: ({ uptimePct }) => uptimePct,
    unit: 'percent',
  },
  {
    label: 'First token 24 h',
    isNumber: true,
    cell: ({ ttftP50Ms }) => milliseconds(ttftP50Ms),
    text: ({ ttftP50Ms }) => ttftP50Ms,
    unit: 'ms',
  },
]

function Providers({ data, curl }: { readonly data: OperatorCockpitQuery; readonly curl: string }) {
  return (
    <Card
      title="Providers"
      about="Served: calls with an answer. Uptime: share of attempts answered, minus back-off time"
      isFlush
    >
      <Table
        label="Providers"
        columns={PROVIDER_COLUMNS}
        rows={data.providers ?? []}
        keyOf={({ provider }) => provider ?? ''}
        curl={curl}
        empty={
          data.providers === null ? (
            <NotSummed />
          ) : (
            <Empty title="No calls in the last day">
              <p>Providers show up with their first call.</p>
            </Empty>
          )
        }
      />
    </Card>
  )
}

type LoadProps = { readonly now: number | null; readonly most: number | null; readonly unit: string }

/** The share of a limit from which a process is close to refusing calls. */
const BUSY = 0.8

/** A load beside its limit, marked when the load is close to the limit. */
function Load({ now, most, unit }: LoadProps) {
  if (now === null || most === null) return UNKNOWN
  const text = `${compact(now)} of ${compact(most)}${unit}`
  return now >= most * BUSY ? <Badge tone={now >= most ? 'bad' : 'warn'}>{text}</Badge> : text
}

type Process = NonNullable<OperatorCockpitQuery['dataPlaneProcesses']>[number]

const PROCESS_COLUMNS: readonly Column<Process>[] = [
  {
    label: 'Data plane',
    // The end of the name is the start of the process.
    cell: ({ node }) => <code title={node}>{node.replace(/\.[0-9A-Z]{26}$/, '')}</code>,
    text: ({ node }) => node,
  },
  {
    label: 'State',
    cell: ({ isAlive, isMember }) =>
      isAlive && isMember ? (
        'serves'
      ) : (
        <Badge tone={isAlive ? 'warn' : 'bad'}>{isAlive ? 'not admitted' : 'silent'}</Badge>
      ),
    text: ({ isAlive }) => (isAlive ? 'alive' : 'silent'),
  },
  {
    label: 'Open calls',
    isNumber: true,
    cell: ({ openCalls, maxOpenCalls }) => <Load now={openCalls} most={maxOpenCalls} unit="" />,
    text: ({ openCalls }) => openCalls,
  },
  {
    label: 'Loop delay, p99',
    isNumber: true,
    cell: ({ loopDelayMs, maxLoopDelayMs }) => <Load now={loopDelayMs} most={maxLoopDelayMs} unit=" ms" />,
    text: ({ loopDelayMs }) => loopDelayMs,
    unit: 'ms',
  },
  { label: 'Offers', isNumber: true, cell: ({ offers }) => offers ?? UNKNOWN, text: ({ offers }) => offers },
  { label: 'Version', cell: ({ version }) => version ?? UNKNOWN, text: ({ version }) => version },
  {
    label: 'Last heard',
    isNumber: true,
    cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} />,
    text: ({ lastSeenAt }) => lastSeenAt,
    unit: 'time',
  },
]

function Processes({ data, curl }: { readonly data: OperatorCockpitQuery; readonly curl: string }) {
  return (
    <Card title="Data planes" about="At a limit, a data plane refuses calls" isFlush>
      <Table
        label="Data planes"
        columns={PROCESS_COLUMNS}
        rows={data.dataPlaneProcesses ?? []}
        keyOf={({ node }) => node}
        curl={curl}
        empty={<Empty title="No data plane has reported">{null}</Empty>}
      />
    </Card>
  )
}

type Queue = NonNullable<OperatorCockpitQuery['queues']>[number]

const QUEUES: ReadonlyMap<string, string> = new Map([
  ['usage', 'Usage'],
  ['health', 'Offer health'],
  ['maintenance', 'Maintenance'],
  ['webhooks', 'Webhooks'],
  ['mail', 'E-mail'],
])

const QUEUE_COLUMNS: readonly Column<Queue>[] = [
  { label: 'Queue', cell: ({ queue }) => QUEUES.get(queue) ?? queue, text: ({ queue }) => queue },
  { label: 'Waiting', phone: 'lead', isNumber: true, cell: ({ waiting }) => waiting, text: ({ waiting }) => waiting },
  { label: 'Active', isNumber: true, cell: ({ active }) => active, text: ({ active }) => active },
  { label: 'Delayed', isNumber: true, cell: ({ delayed }) => delayed, text: ({ delayed }) => delayed },
  {
    label: 'Failed',
    isNumber: true,
    cell: ({ failed }) => (failed > 0 ? <Badge tone="bad">{failed}</Badge> : failed),
    text: ({ failed }) => failed,
  },
]

function Queues({ data, curl }: { readonly data: OperatorCockpitQuery; readonly curl: string }) {
  return (
    <Card title="Queues" about="Work of the control plane" isFlush>
      <Table
        label="Queues"
        columns={QUEUE_COLUMNS}
        rows={data.queues ?? []}
        keyOf={({ queue }) => queue}
        curl={curl}
        empty={<Empty title="No queues">{null}</Empty>}
      />
    </Card>
  )
}
