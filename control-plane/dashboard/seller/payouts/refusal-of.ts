import type { SellerPayoutsQuery } from '#control-plane/dashboard/data/documents/seller-payouts.ts'
import { money, span, toMicro } from '#control-plane/dashboard/data/format.ts'

type Position = NonNullable<SellerPayoutsQuery['payouts']>

/**
 * The reason why a request for a payout would be refused now; undefined where at least one address can be paid. Each
 * address is paid by itself.
 */
export function refusalOf(position: Position): string | undefined {
  const { payoutStop, payoutHold, recipients, thresholdUsdc, availableUsdc, inFlightUsdc, holdMs } = position
  if (payoutHold !== null) return payoutHold.reason
  if (payoutStop !== null) return 'Payouts are stopped. The reason is below.'
  const least = toMicro(thresholdUsdc)
  const ready = recipients.flatMap(({ recipient, holdReason, payableUsdc }) =>
    recipient === null || holdReason !== null ? [] : [toMicro(payableUsdc)],
  )
  if (ready.some((micro) => micro > 0n && micro >= least)) return undefined
  if (toMicro(inFlightUsdc) > 0n && toMicro(availableUsdc) < least) return 'Your payout is on its way.'
  const [most = 0n] = [...ready].sort((a, b) => Number(b - a))
  const isWithheld = recipients.some(({ holdReason }) => holdReason !== null)
  if (isWithheld && most === 0n) return 'Your balance is withheld. The reason is below.'
  const held = recipients.reduce(
    (sum, { payableUsdc, ...one }) => sum + toMicro(one.availableUsdc) - toMicro(payableUsdc),
    0n,
  )
  const waits =
    holdMs > 0 && held > 0n ? ` ${money(held)} more is in the hold period: ${span(holdMs)} after each call.` : ''
  return `The minimum payout is ${money(thresholdUsdc)} an address. ${money(most)} is ready.${waits}`
}
