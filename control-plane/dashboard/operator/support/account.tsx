import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { PageReleaseHoldDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorSupportQuery } from '#control-plane/dashboard/data/documents/operator-support.ts'
import { exactMoney, short, toMicro, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { kindText } from '#control-plane/dashboard/operator/ledger-words.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Exact } from '#control-plane/dashboard/ui/exact.tsx'
import { Ago, Badge, Money, State, Time, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { signedMoney } from '#control-plane/dashboard/ui/signed-money.ts'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import type { MoneyMove } from './move-money.tsx'
import { MoveMoney } from './move-money.tsx'

type Shown = NonNullable<OperatorSupportQuery['supportAccount']>
type Props = { readonly account: Shown; readonly curl: string }

/** A customer: balances, the ways to change them, and the newest lines of each list. */
export function Account({ account, curl }: Props) {
  const [move, setMove] = useState<MoneyMove>()
  const { buyerAccount, sellerAccount, spendableMicro, heldMicro, balanceMicro, earnedMicro } = account
  const hasCredit = toMicro(spendableMicro) > 0n
  return (
    <>
      <Card
        title={account.name ?? (account.wallet === null ? 'Customer' : `Customer ${short(account.wallet)}`)}
        about={hasCredit ? undefined : 'No spendable credit: nothing can be taken back or refunded'}
        actions={
          <>
            <Button kind="primary" onClick={() => setMove('grant')}>
              Give credit
            </Button>
            <Button disabled={!hasCredit} onClick={() => setMove('take')}>
              Take credit back
            </Button>
            <Button disabled={!hasCredit} onClick={() => setMove('refund')}>
              Record a refund
            </Button>
          </>
        }
      >
        <Facts
          facts={[
            ['Wallet', account.wallet === null ? 'none' : <code key="wallet">{account.wallet}</code>],
            ['Since', <Time key="since" at={account.createdAt} />],
            [
              'More',
              <span key="more" className="actions">
                <Link to="/operator/ledger" search={{ account: buyerAccount }}>
                  Ledger as a buyer
                </Link>
                <Link to="/operator/ledger" search={{ account: sellerAccount }}>
                  Ledger as a seller
                </Link>
                <Link to="/operator/audit" search={{ subject: buyerAccount }}>
                  Changes by operators
                </Link>
                {account.user === null ? null : (
                  <Link to="/operator/audit" search={{ actor: account.user }}>
                    Changes by the customer
                  </Link>
                )}
              </span>,
            ],
            [
              'Ids',
              <details key="ids" className="twin">
                <summary>Show the ids</summary>
                <Facts
                  facts={[
                    ...(account.user === null ? [] : [['User', <code key="user">{account.user}</code>] as const]),
                    ...(account.workspace === null
                      ? []
                      : [['Workspace', <code key="workspace">{account.workspace}</code>] as const]),
                    ['Buyer account', <code key="buyer">{buyerAccount}</code>],
                    ['Seller account', <code key="seller">{sellerAccount}</code>],
                  ]}
                />
              </details>,
            ],
          ]}
        />
      </Card>
      <Stats
        figures={[
          { label: 'Available credit', value: <Exact micro={spendableMicro} /> },
          {
            label: 'Held by running calls',
            value: <Exact micro={heldMicro} />,
            hint: account.holds?.length === 0 ? 'no open holds' : undefined,
          },
          { label: 'Balance in the ledger', value: <Exact micro={balanceMicro} /> },
          { label: 'Earned, not paid out', value: <Exact micro={earnedMicro} /> },
        ]}
      />
      {account.holds?.length === 0 ? null : <Holds account={account} curl={curl} />}
      <Calls account={account} curl={curl} />
      <div className="grid two">
        <Ledger account={account} curl={curl} />
        <Keys account={account} curl={curl} />
      </div>
      <div className="grid two">
        <Deposits account={account} curl={curl} />
        <Payouts account={account} curl={curl} />
      </div>
      {move === undefined ? null : (
        <MoveMoney
          move={move}
          account={buyerAccount}
          holder={account.wallet === null ? (account.user ?? buyerAccount) : short(account.wallet)}
          spendableMicro={spendableMicro}
          onClose={() => setMove(undefined)}
        />
      )}
    </>
  )
}

type Hold = NonNullable<Shown['holds']>[number]

function Holds({ account: { holds }, curl }: Props) {
  const [released, setReleased] = useState<Hold>()
  const columns: readonly Column<Hold>[] = [
    { label: 'Call', cell: ({ rid }) => <code>{rid}</code>, text: ({ rid }) => rid },
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
      label: 'State',
      cell: ({ isOverdue }) => (isOverdue ? <Badge tone="bad">overdue</Badge> : 'running'),
      text: ({ isOverdue }) => (isOverdue ? 'overdue' : 'running'),
    },
    {
      label: 'Change',
      cell: (hold) => (
        <Button onClick={() => setReleased(hold)} aria-label={`Release the hold of ${hold.rid}`}>
          Release
        </Button>
      ),
    },
  ]
  return (
    <Card title="Open holds" about="Credit set aside for calls that run. Up to 50" isFlush>
      <Table
        label="Open holds"
        columns={columns}
        rows={holds ?? []}
        most={10}
        keyOf={({ rid }) => rid}
        curl={curl}
        empty={
          <Empty title="Not known">
            <p>The gate does not answer. Holds show again once it does.</p>
          </Empty>
        }
      />
      {released === undefined ? null : <Release hold={released} onClose={() => setReleased(undefined)} />}
    </Card>
  )
}

function Release({ hold, onClose }: { readonly hold: Hold; readonly onClose: () => void }) {
  const say = useToast()
  const release = useChange(PageReleaseHoldDocument, {
    onDone: () => {
      onClose()
      say('The hold is released.')
    },
  })
  return (
    <Confirm
      title="Release this hold?"
      about="For a call whose process is gone. If the call still succeeds, the buyer pays its charge."
      lines={[{ name: 'Held', now: exactMoney(hold.amountMicro), after: exactMoney(0n) }]}
      action="Release"
      isDanger
      needsReason
      isBusy={release.isPending}
      error={release.error}
      onDo={(reason) => release.mutate({ rid: hold.rid, reason })}
      onClose={onClose}
    />
  )
}

type Call = Shown['calls'][number]

function Calls({ account: { calls, buyerAccount }, curl }: Props) {
  const columns: readonly Column<Call>[] = [
    {
      label: 'When',
      cell: ({ startedAt, rid }) => (
        <Link to="/operator/support" search={{ account: buyerAccount, call: rid }}>
          <Time at={startedAt} isInColumn />
        </Link>
      ),
      text: ({ startedAt }) => startedAt,
      unit: 'time',
      isInstant: true,
    },
    { label: 'Model', phone: 'title', cell: ({ model }) => model, text: ({ model }) => model },
    { label: 'Provider', cell: ({ provider }) => provider ?? UNKNOWN, text: ({ provider }) => provider },
    {
      label: 'Outcome',
      cell: ({ outcome, errorCode }) =>
        outcome === 'succeeded' ? (
          'succeeded'
        ) : (
          <State tone={outcome === 'failed' ? 'bad' : 'warn'} name={words(outcome)} reason={errorCode} />
        ),
      text: ({ outcome }) => outcome,
    },
    {
      label: 'Charged',
      isNumber: true,
      cell: ({ chargeMicro, isRefunded }) => (
        <>
          <Money micro={chargeMicro} /> {isRefunded ? <Badge tone="info">refunded</Badge> : null}
        </>
      ),
      text: ({ chargeMicro }) => chargeMicro,
      unit: 'microUsd',
    },
    {
      label: 'Request id',
      phone: 'bare',
      cell: ({ rid }) => <code className="muted">{rid}</code>,
      text: ({ rid }) => rid,
    },
  ]
  return (
    <Card title="Latest calls" about="The newest 25. Open one to refund it" isFlush>
      <Table
        label="Latest calls"
        columns={columns}
        rows={calls}
        most={10}
        keyOf={({ rid }) => rid}
        curl={curl}
        empty={
          <Empty title="No calls">
            <p>Calls show here once they are booked.</p>
          </Empty>
        }
      />
    </Card>
  )
}

const LEDGER_COLUMNS: readonly Column<Shown['entries'][number]>[] = [
  timeColumn('When', ({ at }) => at, { phone: 'bare' }),
  {
    label: 'Kind',
    phone: 'title',
    cell: ({ kind, note }) => (
      <>
        {kindText(kind)}
        {note === null ? null : <span className="sub">{note}</span>}
      </>
    ),
    text: ({ kind }) => kind,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => signedMoney(amountMicro),
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsd',
  },
]

function Ledger({ account: { entries, buyerAccount }, curl }: Props) {
  return (
    <Card
      title="Ledger"
      about={
        <>
          The newest 25 lines of the buyer.{' '}
          <Link to="/operator/ledger" search={{ account: buyerAccount }}>
            See all lines
          </Link>
        </>
      }
      isFlush
    >
      <Table
        label="Ledger"
        columns={LEDGER_COLUMNS}
        rows={entries}
        most={10}
        keyOf={({ id }) => id}
        curl={curl}
        empty={<Empty title="No ledger lines">{null}</Empty>}
      />
    </Card>
  )
}

type Key = Shown['keys'][number]

function stateOf({ revokedAt, expiresAt, frozenAt }: Key): 'revoked' | 'expired' | 'frozen' | 'active' {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt !== null && expiresAt <= Date.now()) return 'expired'
  return frozenAt === null ? 'active' : 'frozen'
}

const KEY_TONES = { active: 'good', frozen: 'warn', expired: 'plain', revoked: 'plain' } as const

const KEY_COLUMNS: readonly Column<Key>[] = [
  {
    label: 'Key',
    cell: ({ keyPrefix, label, id }) => (
      <>
        {label}
        <code className="sub" title={id}>
          {keyPrefix}…
        </code>
      </>
    ),
    text: ({ keyPrefix }) => keyPrefix,
  },
  { label: 'Type', cell: ({ type }) => type, text: ({ type }) => type },
  {
    label: 'State',
    cell: (key) =>
      stateOf(key) === 'active' ? 'active' : <Badge tone={KEY_TONES[stateOf(key)]}>{stateOf(key)}</Badge>,
    text: stateOf,
  },
  {
    label: 'Last used',
    isNumber: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Ago at={lastUsedAt} />),
    text: ({ lastUsedAt }) => lastUsedAt,
    unit: 'time',
  },
]

function Keys({ account: { keys }, curl }: Props) {
  return (
    <Card title="Keys" about="The newest 25. Secrets are never shown" isFlush>
      <Table
        label="Keys"
        columns={KEY_COLUMNS}
        rows={keys}
        most={10}
        keyOf={({ id }) => id}
        curl={curl}
        empty={<Empty title="No keys">{null}</Empty>}
      />
    </Card>
  )
}

const DEPOSIT_COLUMNS: readonly Column<Shown['deposits'][number]>[] = [
  timeColumn('When', ({ openedAt }) => openedAt),
  {
    label: 'State',
    cell: ({ state, reason }) =>
      state === 'credited' ? 'credited' : <State tone="info" name={words(state)} reason={reason} />,
    text: ({ state }) => state,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => <Money micro={amountMicro} />,
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsdc',
  },
  {
    label: 'Transaction',
    cell: ({ transaction }) => <Transaction hash={transaction} />,
    text: ({ transaction }) => transaction,
  },
]

function Deposits({ account: { deposits }, curl }: Props) {
  return (
    <Card title="Deposits" about="The newest 25" isFlush>
      <Table
        label="Deposits"
        columns={DEPOSIT_COLUMNS}
        rows={deposits}
        most={10}
        keyOf={({ id }) => id}
        curl={curl}
        empty={<Empty title="No deposits">{null}</Empty>}
      />
    </Card>
  )
}

const PAYOUT_COLUMNS: readonly Column<Shown['payouts'][number]>[] = [
  timeColumn('When', ({ plannedAt }) => plannedAt),
  {
    label: 'State',
    cell: ({ state, reason }) =>
      state === 'paid' ? 'paid' : <State tone="info" name={words(state)} reason={reason} />,
    text: ({ state }) => state,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => <Money micro={amountMicro} />,
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsdc',
  },
  {
    label: 'Transaction',
    cell: ({ transaction }) => <Transaction hash={transaction} />,
    text: ({ transaction }) => transaction,
  },
]

function Payouts({ account: { payouts }, curl }: Props) {
  return (
    <Card title="Payouts" about="The newest 25" isFlush>
      <Table
        label="Payouts"
        columns={PAYOUT_COLUMNS}
        rows={payouts}
        most={10}
        keyOf={({ id }) => id}
        curl={curl}
        empty={<Empty title="No payouts">{null}</Empty>}
      />
    </Card>
  )
}
