import { UPTO_PROXY } from '#shared/chain-terms.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd } from '#shared/money.ts'
import type { SentPayment } from './payment-header.ts'

/** Milliseconds for which a signature must still be valid: the longest call, and a minute to settle it. */
const LEAST_LEFT_MS = 660 * SECOND
/** Milliseconds for which it may be valid. A claim is kept until then. */
const MOST_LEFT_MS = DAY
/** The most by which payers' clocks may be ahead of our clock. */
const SKEW_MS = 5 * SECOND
/** The largest amount that is parsed. */
const MAX_AMOUNT = 10n ** 13n

/** The requirements that a payment must meet. */
export type PaymentNeeds = {
  readonly terms: PaymentTerms
  /** The price of this request now, and the promised price; undefined without a promise. */
  readonly priceMicro: MicroUsd
  readonly quotedMicro: MicroUsd | undefined
  readonly url: string
  readonly now: number
}

/** The result of a check: the amount to take, or the reason of a refusal by x402. */
export type Checked = { readonly amountMicro: MicroUsd } | { readonly reason: string }

/**
 * Checks a payment's own statements: network, token, recipient, price, window of time, and for `upto` its settler. The
 * signature is checked later (see wallet-signature.ts); balance and nonce are the facilitator's to check.
 */
export function checkPayment(payment: SentPayment, needed: PaymentNeeds): Checked {
  const { terms } = needed
  const { accepted } = payment
  if (accepted !== undefined) {
    if (accepted.network !== terms.network) return { reason: 'invalid_network' }
    if (!isSame(accepted.asset, terms.asset)) return { reason: 'invalid_asset' }
    if (!isSame(accepted.payTo, terms.payTo)) return { reason: 'invalid_pay_to' }
  }
  if (payment.resourceUrl !== undefined && !isSameResource(payment.resourceUrl, needed.url)) {
    return { reason: 'invalid_resource' }
  }
  return payment.scheme === 'exact' ? checkExact(payment, needed) : checkUpto(payment, needed)
}

function checkExact({ accepted, signed }: SentPayment & { scheme: 'exact' }, needed: PaymentNeeds): Checked {
  const { to, value, validAfter, validBefore } = signed.authorization
  const { terms, now } = needed
  if (!isSame(to, terms.payTo)) return { reason: 'invalid_exact_evm_recipient_mismatch' }
  const time = checkWindow(validAfter, validBefore, now)
  if (time !== undefined) return { reason: `invalid_exact_evm_payload_authorization_${time}` }
  const amount = BigInt(value)
  if (accepted !== undefined && accepted.amount !== value) {
    return { reason: 'invalid_exact_evm_payload_authorization_value_mismatch' }
  }
  // An exact payment must equal the price: the present one, or the promised one.
  const isPrice = amount === needed.quotedMicro || (needed.quotedMicro === undefined && amount === needed.priceMicro)
  if (!isPrice) return { reason: 'invalid_exact_evm_payload_authorization_value' }
  return { amountMicro: microUsd(amount) }
}

function checkUpto({ accepted, signed }: SentPayment & { scheme: 'upto' }, needed: PaymentNeeds): Checked {
  const { permitted, spender, deadline, witness } = signed.permit2Authorization
  const { terms, now } = needed
  if (terms.facilitator === null) return { reason: 'unsupported_scheme' }
  if (!isSame(permitted.token, terms.asset)) return { reason: 'invalid_asset' }
  if (!isSame(spender, UPTO_PROXY)) return { reason: 'invalid_permit2_spender' }
  if (!isSame(witness.to, terms.payTo)) return { reason: 'invalid_permit2_recipient_mismatch' }
  if (!isSame(witness.facilitator, terms.facilitator)) return { reason: 'upto_facilitator_mismatch' }
  const time = checkWindow(witness.validAfter, deadline, now)
  if (time !== undefined) return { reason: `invalid_permit2_${time}` }
  const amount = BigInt(permitted.amount)
  if (amount > MAX_AMOUNT || (accepted !== undefined && accepted.amount !== permitted.amount)) {
    return { reason: 'permit2_amount_mismatch' }
  }
  const least = needed.quotedMicro ?? needed.priceMicro
  return amount < least ? { reason: 'permit2_amount_mismatch' } : { amountMicro: microUsd(amount) }
}

/** The bound of the time window that the payment misses. Bounds are Unix seconds in digits. */
function checkWindow(after: string, before: string, now: number): 'valid_after' | 'valid_before' | undefined {
  const opensAt = BigInt(after) * 1_000n
  const closesAt = BigInt(before) * 1_000n
  if (opensAt > BigInt(now + SKEW_MS)) return 'valid_after'
  if (closesAt < BigInt(now + LEAST_LEFT_MS) || closesAt > BigInt(now + MOST_LEFT_MS)) return 'valid_before'
  return undefined
}

function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase()
}

/** True for the same resource. Queries do not count, because prices do not depend on them. */
function isSameResource(statedUrl: string, ours: string): boolean {
  try {
    const [left, right] = [new URL(statedUrl), new URL(ours)]
    return left.origin === right.origin && left.pathname === right.pathname
  } catch {
    return false
  }
}
