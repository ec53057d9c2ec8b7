import type { OperatorMoneyQuery } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { short, words } from '#control-plane/dashboard/data/format.ts'
import { Ago, Badge, Money, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'

type Props = { readonly data: OperatorMoneyQuery; readonly curl: string }
type Payment = NonNullable<OperatorMoneyQuery['walletPayments']>[number]

/** The amount of a payment: the cost of the call, or, until that is known, its upper bound. */
const amountOf = ({ chargeMicro, dueMicro, amountMicro }: Payment) => chargeMicro ?? dueMicro ?? amountMicro

const PAYMENT_COLUMNS: readonly Column<Payment>[] = [
  timeColumn('Claimed', ({ claimedAt }) => claimedAt),
  {
    label: 'State',
    cell: ({ state, reason }) => (
      <>
        {state === 'confirmed' ? (
          'confirmed'
        ) : (
          <Badge tone={state === 'written_off' ? 'bad' : 'info'}>{words(state)}</Badge>
        )}
        {reason === null ? null : <span className="sub">{words(reason)}</span>}
      </>
    ),
    text: ({ state }) => state,
  },
  { label: 'Method', cell: ({ rail }) => words(rail), text: ({ rail }) => rail },
  {
    label: 'Wallet',
    cell: ({ payer }) => <code className="nowrap">{short(payer)}</code>,
    text: ({ payer }) => payer,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: (payment) => <Money micro={amountOf(payment)} />,
    text: amountOf,
    unit: 'microUsd',
  },
  {
    label: 'Transaction',
    cell: ({ transaction }) => <Transaction hash={transaction} />,
    text: ({ transaction }) => transaction,
  },
]

/** The newest payments by x402 and MPP, in any state. */
export function Payments({ data, curl }: Props) {
  return (
    <Card title="Wallet payments" about="The newest 25" isFlush>
      <Table
        label="Wallet payments"
        columns={PAYMENT_COLUMNS}
        rows={data.walletPayments ?? []}
        most={12}
        keyOf={({ rid }) => rid}
        curl={curl}
        empty={
          <Empty title="No wallet payments">
            <p>Payments by x402 and MPP are listed here once they are claimed.</p>
          </Empty>
        }
      />
    </Card>
  )
}

type State = NonNullable<OperatorMoneyQuery['walletPaymentsState']>['states'][number]

const STATE_COLUMNS: readonly Column<State>[] = [
  { label: 'State', cell: ({ state }) => words(state), text: ({ state }) => state },
  { label: 'Payments', isNumber: true, cell: ({ count }) => count, text: ({ count }) => count },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => <Money micro={amountMicro} />,
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsd',
  },
  {
    label: 'Oldest',
    isNumber: true,
    cell: ({ oldestAt }) => <Ago at={oldestAt} />,
    text: ({ oldestAt }) => oldestAt,
    unit: 'time',
  },
]

/** Sums of the payments that the chain has not confirmed, and of those that were never paid. */
export function OpenPayments({ data, curl }: Props) {
  return (
    <Card title="Open wallet payments" about="By state, including written-off payments" isFlush>
      <Table
        label="Open wallet payments"
        columns={STATE_COLUMNS}
        rows={data.walletPaymentsState?.states ?? []}
        keyOf={({ state }) => state}
        curl={curl}
        empty={
          <Empty title="No payment is open">
            <p>A payment is open from its claim until the chain has confirmed it.</p>
          </Empty>
        }
      />
    </Card>
  )
}
