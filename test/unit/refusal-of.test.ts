import { expect, it } from 'vitest'
import { refusalOf } from '#control-plane/dashboard/seller/payouts/refusal-of.ts'

type Position = Parameters<typeof refusalOf>[0]
const RECIPIENT: Position['recipients'][number] = {
  recipient: '0x01',
  earnedUsdc: '0',
  availableUsdc: '0',
  payableUsdc: '0',
  inFlightUsdc: '0',
  paidUsdc: '0',
  holdReason: null,
  coolsUntil: null,
}
const DAY_MS = 86_400_000

/** A position with a minimum of one dollar, and a recipient for each of the given parts. */
function position(recipients: readonly Partial<typeof RECIPIENT>[], given: Partial<Position> = {}): Position {
  return {
    availableUsdc: '0',
    inFlightUsdc: '0',
    paidUsdc: '0',
    thresholdUsdc: '1000000',
    nextPayoutAt: null,
    payoutEveryMs: DAY_MS,
    holdMs: DAY_MS,
    nextToken: null,
    recipients: recipients.map((recipient) => ({ ...RECIPIENT, ...recipient })),
    payouts: [],
    payoutStop: null,
    payoutHold: null,
    ...given,
  }
}

it('a payout is offered when one address has the minimum, and not for the sum of several', () => {
  expect(refusalOf(position([{ payableUsdc: '1000000' }, {}]))).toBeUndefined()
  const parts = [{ payableUsdc: '600000' }, { payableUsdc: '999999' }]
  expect(refusalOf(position(parts))).toBe('The minimum payout is $1.00 an address. $0.999999 is ready.')
})

it('without money the least amount is named', () => {
  expect(refusalOf(position([]))).toBe('The minimum payout is $1.00 an address. $0.00 is ready.')
  // With a minimum of zero, too, a balance of zero is not paid out.
  expect(refusalOf(position([{}], { thresholdUsdc: '0' }))).toContain('$0.00 is ready')
})

it('money in its hold period is named apart', () => {
  const held = [{ availableUsdc: '5000000', payableUsdc: '200000' }]
  expect(refusalOf(position(held))).toBe(
    'The minimum payout is $1.00 an address. $0.20 is ready. $4.80 more is in the hold period: 1 d after each call.',
  )
})

it('a hold, a stop and withheld addresses are reasons, and so is a payout that is under way', () => {
  const rich = [{ availableUsdc: '5000000', payableUsdc: '5000000' }]
  const hold = { reason: 'An operator looks at it.', since: null }
  expect(refusalOf(position(rich, { payoutHold: hold }))).toBe(hold.reason)
  expect(refusalOf(position(rich, { payoutStop: 'switched_off' }))).toContain('stopped')
  const blocked = rich.map((one) => ({ ...one, holdReason: 'blocked_address' }))
  expect(refusalOf(position(blocked))).toContain('withheld')
  expect(refusalOf(position([{}], { inFlightUsdc: '2000000' }))).toBe('Your payout is on its way.')
})
