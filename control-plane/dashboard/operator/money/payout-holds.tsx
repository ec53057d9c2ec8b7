import { useState } from 'react'
import { PageClearPayoutHoldDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorMoneyQuery } from '#control-plane/dashboard/data/documents/operator-money.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { holdCause } from '#control-plane/dashboard/operator/hold-cause.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type PayoutHold = NonNullable<OperatorMoneyQuery['moneyState']>['payoutHolds'][number]
type Props = { readonly data: OperatorMoneyQuery; readonly curl: string }

/** The holds that keep every payout back, each with the button that clears it. */
export function PayoutHolds({ data: { moneyState }, curl }: Props) {
  const [asked, setAsked] = useState<PayoutHold>()
  const holds = moneyState?.payoutHolds ?? []
  const columns: readonly Column<PayoutHold>[] = [
    {
      label: 'Cause',
      cell: ({ reason }) => (
        <>
          {holdCause(reason)}
          <span className="sub mono">{reason}</span>
        </>
      ),
      text: ({ reason }) => reason,
    },
    timeColumn('Since', ({ setAt }) => setAt),
    {
      label: 'Age',
      phone: 'lead',
      isNumber: true,
      cell: ({ setAt }) => <Ago at={setAt} />,
      text: ({ setAt }) => setAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (hold) => (
        <Button aria-label={`Clear the hold: ${holdCause(hold.reason)}`} onClick={() => setAsked(hold)}>
          Clear
        </Button>
      ),
    },
  ]
  return (
    <Card title="Holds on all payouts" about="While a hold is in force, the market pays no seller" isFlush>
      <Table
        label="Holds on all payouts"
        columns={columns}
        rows={holds}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No holds">
            <p>The money checker sets a hold when it finds a broken invariant.</p>
          </Empty>
        }
      />
      {asked === undefined ? null : (
        <Clear hold={asked} others={holds.length - 1} onClose={() => setAsked(undefined)} />
      )}
    </Card>
  )
}

type ClearProps = { readonly hold: PayoutHold; readonly others: number; readonly onClose: () => void }

function Clear({ hold: { id, reason }, others, onClose }: ClearProps) {
  const say = useToast()
  const clear = useChange(PageClearPayoutHoldDocument, {
    onDone: () => {
      onClose()
      say(others === 0 ? 'The hold is cleared. Payouts resume.' : 'The hold is cleared. Other holds are in force.')
    },
  })
  return (
    <Confirm
      title="Clear this hold?"
      about={`${holdCause(reason)}. ${
        others === 0
          ? 'Payouts of all sellers resume with the next ones. A payout that is on the chain cannot be undone.'
          : 'Payouts still wait for the other holds.'
      } The hold returns if the next check finds the same cause.`}
      lines={[{ name: 'Holds in force', now: others + 1, after: others }]}
      action="Clear hold"
      isDanger
      needsReason
      isBusy={clear.isPending}
      error={clear.error}
      onDo={(why) => clear.mutate({ id, reason: why })}
      onClose={onClose}
    />
  )
}
