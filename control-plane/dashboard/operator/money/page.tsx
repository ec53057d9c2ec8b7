import { Link } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorMoneyQuery } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { OperatorMoneyDocument } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { money, toMicro, words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Exact } from '#control-plane/dashboard/ui/exact.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Badge, Money, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { OpenPayments, Payments } from './payments.tsx'
import { PayoutHolds } from './payout-holds.tsx'
import { HeldTransfers, Transfers } from './transfers.tsx'

const REFRESH_MS = 10_000

export function MoneyPage() {
  return (
    <Gate side="operator" title="Money">
      <MoneyScreen />
    </Gate>
  )
}

function MoneyScreen() {
  const query = useScreen(OperatorMoneyDocument, {}, { everyMs: REFRESH_MS })
  const curl = curlOf(OperatorMoneyDocument, {}, true)
  return (
    <Page title="Money" about="Treasury, holds, payouts, wallet payments, and events that need your decision.">
      <Loaded query={query}>
        {(data) => (
          <>
            <Standing data={data} />
            <Decisions data={data} curl={curl} />
            <Transfers data={data} />
            <Payments data={data} curl={curl} />
            <div className="grid two">
              <OpenPayments data={data} curl={curl} />
              <Holds data={data} curl={curl} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Everything that waits for an operator, or one line where nothing does. */
function Decisions({ data, curl }: { readonly data: OperatorMoneyQuery; readonly curl: string }) {
  const holds = data.moneyState?.payoutHolds.length ?? 0
  const held = data.heldTransfers?.length ?? 0
  const events = (data.poisonedEvents?.length ?? 0) + (data.conflictingEvents?.length ?? 0)
  const isKnown = data.moneyState !== null && data.heldTransfers !== null && data.poisonedEvents !== null
  return (
    <>
      {isKnown && holds + held + events === 0 ? (
        <Notice tone="good">
          <strong>Nothing waits for your decision.</strong>
          <span className="small">No holds on payouts, no payouts on hold, and every event is booked.</span>
        </Notice>
      ) : null}
      {holds === 0 ? null : <PayoutHolds data={data} curl={curl} />}
      {held === 0 ? null : <HeldTransfers data={data} />}
      {events === 0 ? null : <Waiting data={data} curl={curl} />}
    </>
  )
}

type Departures = NonNullable<NonNullable<OperatorMoneyQuery['treasury']>['departureHold']>

/** The cause of a stop of all payouts, and the operator's next step. Other causes keep their code. */
const STOPS: Readonly<Record<string, string>> = {
  not_set_up:
    'no treasury is set up. Set TREASURY_ADDRESS, a signer and CHAIN_RPC_URL, then restart the control plane.',
  switched_off: 'the payouts switch is off. Turn the switch on under Incidents.',
  ledger_check: 'the money checker found a fault, or money is under review. See the holds on all payouts below.',
}

/** The reason why payments by wallet are closed. Other reasons keep their code. */
const CLOSED: Readonly<Record<string, string>> = {
  not_set_up: 'not set up',
  chain_unreachable: 'chain unreachable',
  no_gas_or_kinds: 'no gas, or no payment kind',
}

const AWAITED: Readonly<Record<string, string>> = {
  journals: 'the journals of the data planes',
  chain: 'the chain to be read',
  transfers: 'transfers that are in no books',
  treasury: 'your confirmation of a former treasury (operator treasury retire)',
  endpoint: 'the endpoint of the chain',
}

function Held({ hold: { since, waitsFor, treasury, block, until, open } }: { readonly hold: Departures }) {
  return (
    <Notice tone="warn">
      No money has left since <Time at={since} />, because the ledger went back in time. It waits for{' '}
      {AWAITED[waitsFor] ?? waitsFor}
      {treasury === null ? null : `, of ${treasury}`}
      {block === null ? null : `, read up to block ${block}`}
      {until === null ? null : (
        <>
          , past <Time at={until} />
        </>
      )}
      {open.length === 0 ? null : `: ${open.join(', ')}`}.
    </Notice>
  )
}

const closedText = (reason: string | null | undefined) =>
  reason == null ? 'not set up' : (CLOSED[reason] ?? words(reason))

/** The money of buyers and sellers that the market keeps. */
const owedBy = ({ owedToBuyersMicro, owedToSellersMicro }: NonNullable<OperatorMoneyQuery['treasury']>) =>
  toMicro(owedToBuyersMicro) + toMicro(owedToSellersMicro)

function Standing({
  data: { treasury, shortfall, walletPaymentsState: wallets },
}: {
  readonly data: OperatorMoneyQuery
}) {
  return (
    <>
      {treasury?.stoppedFor === null || treasury === null ? null : (
        <Notice tone="bad">Payouts have stopped: {STOPS[treasury.stoppedFor] ?? words(treasury.stoppedFor)}</Notice>
      )}
      {treasury?.departureHold == null ? null : <Held hold={treasury.departureHold} />}
      {treasury?.needsRefill === true ? (
        <Notice tone="warn">The treasury is below its floor and needs a refill.</Notice>
      ) : null}
      <Stats
        figures={[
          {
            label: 'Treasury on chain',
            value: <Exact micro={treasury?.balanceMicro} />,
            hint: treasury?.isSetUp === true ? undefined : 'no signer is configured',
          },
          {
            label: 'Owed',
            value: treasury === null ? undefined : <Exact micro={owedBy(treasury)} />,
            hint:
              treasury === null
                ? undefined
                : `${money(treasury.owedToBuyersMicro)} credit, ${money(treasury.owedToSellersMicro)} earnings`,
          },
          { label: 'Shortfall', value: <Exact micro={shortfall?.owedMicro} />, hint: 'spent by buyers, not covered' },
          {
            label: 'Wallet payments in flight',
            value: <Exact micro={wallets?.exposureMicro} />,
            hint:
              wallets === null ? undefined : `${wallets.unminedTransactions} transactions, ${wallets.hanging} stuck`,
          },
          {
            label: 'Facilitator',
            value: wallets?.isOpen === true ? 'open' : <Badge tone="warn">{closedText(wallets?.closedFor)}</Badge>,
            hint: 'sends settlements to the chain',
          },
        ]}
      />
    </>
  )
}

type Hold = NonNullable<OperatorMoneyQuery['openHolds']>[number]

const HOLD_COLUMNS: readonly Column<Hold>[] = [
  { label: 'Call', cell: ({ rid }) => <code>{rid}</code>, text: ({ rid }) => rid },
  {
    label: 'Account',
    cell: ({ account }) => (
      <Link to="/operator/support" search={{ account }}>
        <code>{account}</code>
      </Link>
    ),
    text: ({ account }) => account,
  },
  { label: 'Data plane', cell: ({ node }) => node, text: ({ node }) => node },
  {
    label: 'Held',
    isNumber: true,
    cell: ({ amountMicro }) => <Money micro={amountMicro} />,
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsd',
  },
  {
    label: 'Since',
    isNumber: true,
    cell: ({ openedAt }) => <Ago at={openedAt} />,
    text: ({ openedAt }) => openedAt,
    unit: 'time',
  },
  {
    label: 'Expires',
    isNumber: true,
    cell: ({ expiresAt }) => <Ago at={expiresAt} />,
    text: ({ expiresAt }) => expiresAt,
    unit: 'time',
  },
  {
    label: 'State',
    cell: ({ isOverdue }) => (isOverdue ? <Badge tone="bad">overdue</Badge> : 'running'),
    text: ({ isOverdue }) => (isOverdue ? 'overdue' : 'running'),
  },
]

function Holds({ data, curl }: { readonly data: OperatorMoneyQuery; readonly curl: string }) {
  return (
    <Card title="Open holds" about="Up to 50. Overdue holds are released automatically" isFlush>
      <Table
        label="Open holds"
        columns={HOLD_COLUMNS}
        rows={data.openHolds ?? []}
        most={15}
        keyOf={({ rid }) => rid}
        curl={curl}
        empty={
          <Empty title="Nothing is held">
            <p>Each running call reserves its highest possible cost.</p>
          </Empty>
        }
      />
    </Card>
  )
}

function Waiting({ data, curl }: { readonly data: OperatorMoneyQuery; readonly curl: string }) {
  const poisoned = (data.poisonedEvents ?? []).map(({ payloadHash, rid, reason, detail }) => ({
    id: payloadHash,
    rid,
    kind: reason,
    about: detail,
  }))
  const conflicts = (data.conflictingEvents ?? []).map(({ payloadHash, rid, source }) => ({
    id: `${rid} ${payloadHash}`,
    rid,
    kind: 'conflict',
    about: `from ${source}`,
  }))
  type Line = (typeof poisoned)[number]
  const columns: readonly Column<Line>[] = [
    { label: 'Call', cell: ({ rid }) => <code>{rid ?? 'unknown'}</code>, text: ({ rid }) => rid },
    { label: 'Why', phone: 'bare', cell: ({ kind, about }) => `${words(kind)}: ${about}`, text: ({ kind }) => kind },
  ]
  return (
    <Card title="Events waiting for a decision" isFlush>
      <Table
        label="Waiting events"
        columns={columns}
        rows={[...poisoned, ...conflicts]}
        most={12}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="Nothing waits">
            <p>Events that cannot be booked, or that contradict another, wait here for a decision.</p>
          </Empty>
        }
      />
    </Card>
  )
}
