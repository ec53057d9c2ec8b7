import type { FormEvent } from 'react'
import { useState } from 'react'
import {
  PageGrantCreditDocument,
  PageRefundPaymentDocument,
  PageTakeCreditDocument,
} from '#control-plane/dashboard/data/documents/operator.ts'
import { exactMoney, toMicro, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { microOf } from '#control-plane/dashboard/market/fees/fee-split.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

/** A way to change the balance of a buyer by hand. */
export type MoneyMove = 'grant' | 'take' | 'refund'

const TEXTS = {
  grant: {
    title: 'Give credit',
    about: 'The market pays for it. The buyer can spend it at once and sees your reason in the ledger.',
    action: 'Give credit',
    done: 'The credit is on the account.',
  },
  take: {
    title: 'Take credit back',
    about:
      'Takes credit off the account, such as a grant made by mistake. Credit held by running calls cannot be taken.',
    action: 'Take credit back',
    done: 'The credit is taken back.',
  },
  refund: {
    title: 'Record a refund',
    about:
      'Records money that you returned outside of the market, by card or bank. It takes the amount off the credit. No more than the buyer paid in can be refunded.',
    action: 'Record the refund',
    done: 'The refund is recorded.',
  },
} as const

const MAX_REASON_CHARS = 160
/** Characters of a random ticket: 48 bits and a hyphen. */
const TICKET_CHARS = 13

type Props = {
  readonly move: MoneyMove
  readonly account: string
  /** The buyer's name on the screen. */
  readonly holder: string
  readonly spendableMicro: string
  readonly onClose: () => void
}

/** Asks for an amount and a reason, and shows the balance now and after. */
export function MoveMoney({ move, account, holder, spendableMicro, onClose }: Props) {
  const say = useToast()
  const [amount, setAmount] = useState('')
  const [reason, setReason] = useState('')
  // A second try of the same dialog books nothing twice: the ticket stays.
  const [ticket, setTicket] = useState(() => `support-${crypto.randomUUID().slice(0, TICKET_CHARS)}`)
  const { title, about, action, done } = TEXTS[move]
  const onDone = () => {
    onClose()
    say(done)
  }
  const grant = useChange(PageGrantCreditDocument, { onDone })
  const take = useChange(PageTakeCreditDocument, { onDone })
  const refund = useChange(PageRefundPaymentDocument, { onDone })
  const change = { grant, take, refund }[move]
  const micro = microOf(amount)
  const now = toMicro(spendableMicro)
  const after = micro === undefined ? undefined : move === 'grant' ? now + micro : now - micro
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const shared = { account, amountUsd: amount.trim(), ticket }
    if (move === 'grant') grant.mutate({ ...shared, note: reason.trim() })
    if (move === 'take') take.mutate({ ...shared, reason: reason.trim() })
    if (move === 'refund') refund.mutate({ ...shared, note: reason.trim() })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={`${title}: ${holder}`}>
      <form className="form" onSubmit={submit}>
        <p>{about}</p>
        <div className="form-row">
          <Input
            label="Amount, US dollars"
            inputMode="decimal"
            required
            autoComplete="off"
            value={amount}
            fault={
              amount === '' || micro !== undefined ? undefined : 'Enter an amount above 0 with at most 6 decimals.'
            }
            onChange={({ currentTarget: { value } }) => setAmount(value)}
          />
          <Input
            label="Ticket"
            hint="Of your support system, if you have one. Each ticket is booked once"
            required
            maxLength={100}
            value={ticket}
            onChange={({ currentTarget: { value } }) => setTicket(value)}
          />
        </div>
        <Input
          label="Reason"
          hint="Kept in the audit log and in the ledger"
          required
          maxLength={MAX_REASON_CHARS}
          value={reason}
          onChange={({ currentTarget: { value } }) => setReason(value)}
        />
        <Diff
          lines={[
            {
              name: 'Available credit',
              now: exactMoney(now),
              after: after === undefined ? UNKNOWN : exactMoney(after),
            },
          ]}
        />
        {change.error === null ? null : <ErrorNotice error={change.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind={move === 'grant' ? 'primary' : 'danger'}
            type="submit"
            disabled={change.isPending || micro === undefined || reason.trim() === ''}
            refusal={after !== undefined && after < 0n ? 'The buyer has less than this amount.' : undefined}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
