import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { PageReleaseHoldDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorSupportQuery } from '#control-plane/dashboard/data/documents/operator-support.ts'
import { exactMoney, toMicro, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Ago, Badge, Money, State, Time, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
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
        title="Customer"
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
            ...(account.user === null ? [] : [['User', <code key="user">{account.user}</code>] as const]),
            ...(account.workspace === null
              ? []
              : [['Workspace', <span key="workspace">{`${account.name} (${account.workspace})`}</span>] as const]),
            ['Buyer account', <code key="buyer">{buyerAccount}</code>],
            ['Seller account', <code key="seller">{sellerAccount}</code>],
            ['Since', <Time key="since" at={account.createdAt} />],
            [
              'Changes',
              <Link key="audit" to="/operator/audit" search={{ subject: buyerAccount }}>
                Audit log of this account
              </Link>,
            ],
          ]}
        />
      </Card>
      <Stats
        figures={[
          { label: 'Spendable credit', value: exactMoney(spendableMicro) },
          { label: 'Held by running calls', value: exactMoney(heldMicro) },
          { label: 'Balance in the ledger', value: exactMoney(balanceMicro) },
          { label: 'Earned, not paid out', value: exactMoney(earnedMicro) },
        ]}
      />
      <Holds account={account} curl={curl} />
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
      cell: ({ isOverdue }) => <Badge tone={isOverdue ? 'bad' : 'good'}>{isOverdue ? 'overdue' : 'running'}</Badge>,
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
          holds === null ? (
            <Empty title="Not known">
              <p>The gate does not answer. Holds show again once it does.</p>
            </Empty>
          ) : (
            <Empty title="Nothing is held">
              <p>Each running call reserves its highest possible cost.</p>
            </Empty>
          )
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
          <Time at={startedAt} />
        </Link>
      ),
      text: ({ startedAt }) => startedAt,
      unit: 'time',
    },
    { label: 'Model', cell: ({ model }) => model, text: ({ model }) => model },
    { label: 'Provider', cell: ({ provider }) => provider ?? UNKNOWN, text: ({ provider }) => provider },
    {
      label: 'Outcome',
      cell: ({ outcome, errorCode }) => (
        <State
          tone={outcome === 'succeeded' ? 'good' : outcome === 'failed' ? 'bad' : 'warn'}
          name={words(outcome)}
          reason={errorCode}
        />
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
    { label: 'Request', cell: ({ rid }) => <code>{rid}</code>, text: ({ rid }) => rid },
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
  { label: 'When', cell: ({ at }) => <Time at={at} />, text: ({ at }) => at, unit: 'time' },
  {
    label: 'Kind',
    cell: ({ kind, note }) => <State tone="plain" name={words(kind)} reason={note} />,
    text: ({ kind }) => kind,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => <Money micro={amountMicro} />,
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsd',
  },
]

function Ledger({ account: { entries }, curl }: Props) {
  return (
    <Card title="Ledger" about="The newest 25 lines of the buyer" isFlush>
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
        <code title={id}>{keyPrefix}…</code>
        <span className="sub">{label}</span>
      </>
    ),
    text: ({ keyPrefix }) => keyPrefix,
  },
  { label: 'Type', cell: ({ type }) => type, text: ({ type }) => type },
  {
    label: 'State',
    cell: (key) => <Badge tone={KEY_TONES[stateOf(key)]}>{stateOf(key)}</Badge>,
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
  { label: 'When', cell: ({ openedAt }) => <Time at={openedAt} />, text: ({ openedAt }) => openedAt, unit: 'time' },
  {
    label: 'State',
    cell: ({ state, reason }) => (
      <State tone={state === 'credited' ? 'good' : 'info'} name={words(state)} reason={reason} />
    ),
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
  { label: 'When', cell: ({ plannedAt }) => <Time at={plannedAt} />, text: ({ plannedAt }) => plannedAt, unit: 'time' },
  {
    label: 'State',
    cell: ({ state, reason }) => (
      <State tone={state === 'paid' ? 'good' : 'info'} name={words(state)} reason={reason} />
    ),
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
