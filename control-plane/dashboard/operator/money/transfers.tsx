import type { ReactNode } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import {
  PageHoldTransferDocument,
  PageReleaseTransferDocument,
} from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorMoneyQuery } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { OperatorMoneyDocument } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { short, words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Badge, Money, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Transfer = NonNullable<OperatorMoneyQuery['treasuryTransfers']>[number]
type Kind = 'hold' | 'release'
type Move = { readonly kind: Kind; readonly transfer: Transfer }

/** The change that an operator can make to a payout in each state. A signed payout is on its way and has none. */
const MOVES: Readonly<Partial<Record<Transfer['state'], Kind>>> = { scheduled: 'hold', held: 'release' }
const LABELS = { hold: 'Hold', release: 'Release' } as const

type Listed = {
  readonly title: string
  readonly about: string
  readonly rows: readonly Transfer[]
  readonly most: number
  readonly empty: ReactNode
}

/** The payouts that wait for an operator, with the reason of each. */
export function HeldTransfers({ data }: { readonly data: OperatorMoneyQuery }) {
  return (
    <TransferList
      title="Payouts on hold"
      about="Up to 100. Each payout waits until an operator releases it"
      rows={data.heldTransfers ?? []}
      most={25}
      empty={
        <Empty title="No payouts on hold">
          <p>Payouts above the limit for approval wait here, and those that you hold below.</p>
        </Empty>
      }
    />
  )
}

export function Transfers({ data }: { readonly data: OperatorMoneyQuery }) {
  return (
    <TransferList
      title="Payouts and sweeps"
      about="The newest 25"
      rows={data.treasuryTransfers ?? []}
      most={12}
      empty={
        <Empty title="No payouts yet">
          <p>Sellers above their threshold are paid on schedule.</p>
        </Empty>
      }
    />
  )
}

function TransferList({ title, about, rows, most, empty }: Listed) {
  const [move, setAsked] = useState<Move>()
  return (
    <Card title={title} about={about} isFlush>
      <Table
        label={title}
        columns={columnsOf(setAsked)}
        rows={rows}
        most={most}
        keyOf={({ id }) => id}
        curl={curlOf(OperatorMoneyDocument, {}, true)}
        empty={empty}
      />
      {move === undefined ? null : <Decide asked={move} onClose={() => setAsked(undefined)} />}
    </Card>
  )
}

function Decide({ asked: { kind, transfer }, onClose }: { readonly asked: Move; readonly onClose: () => void }) {
  const say = useToast()
  const done = (text: string) => () => {
    onClose()
    say(text)
  }
  const hold = useChange(PageHoldTransferDocument, { onDone: done('The payout is held.') })
  const release = useChange(PageReleaseTransferDocument, { onDone: done('The payout is released.') })
  const change = kind === 'hold' ? hold : release
  return (
    <Confirm
      title={`${LABELS[kind]} this payout?`}
      about={
        kind === 'hold'
          ? 'The money stays in the treasury until an operator releases the payout. The seller sees that the payout is held.'
          : 'The payout is signed with the next batch and sent to the chain. You cannot undo this.'
      }
      lines={[
        { name: 'Amount', now: <Money micro={transfer.amountMicro} />, after: <Money micro={transfer.amountMicro} /> },
        { name: 'State', now: words(transfer.state), after: kind === 'hold' ? 'held' : 'scheduled' },
      ]}
      action={LABELS[kind]}
      isDanger={kind === 'release'}
      needsReason
      isBusy={change.isPending}
      error={change.error}
      onDo={(reason) => change.mutate({ id: transfer.id, reason })}
      onClose={onClose}
    />
  )
}

function columnsOf(ask: (move: Move) => void): readonly Column<Transfer>[] {
  return [
    timeColumn('Planned', ({ plannedAt }) => plannedAt),
    {
      label: 'State',
      cell: ({ state, reason }) => (
        <>
          {state === 'paid' ? (
            'paid'
          ) : (
            <Badge tone={state === 'held' || state === 'returned' ? 'warn' : 'info'}>{words(state)}</Badge>
          )}
          {reason === null ? null : <span className="sub">{reason}</span>}
        </>
      ),
      text: ({ state }) => state,
    },
    { label: 'For', cell: ({ purpose }) => words(purpose), text: ({ purpose }) => purpose },
    {
      label: 'To',
      cell: ({ recipient }) => <code className="nowrap">{short(recipient)}</code>,
      text: ({ recipient }) => recipient,
    },
    {
      label: 'Amount',
      isNumber: true,
      cell: ({ amountMicro }) => <Money micro={amountMicro} />,
      text: ({ amountMicro }) => amountMicro,
      unit: 'microUsd',
    },
    {
      label: 'Transaction',
      cell: ({ transaction }) => <Transaction hash={transaction} />,
      text: ({ transaction }) => transaction,
    },
    {
      label: 'Change',
      cell: (transfer) => {
        const kind = MOVES[transfer.state]
        if (kind === undefined) return null
        return (
          <Button onClick={() => ask({ kind, transfer })} aria-label={`${LABELS[kind]} ${transfer.id}`}>
            {LABELS[kind]}
          </Button>
        )
      },
    },
  ]
}
