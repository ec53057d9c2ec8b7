const WHOLE_BPS = 10_000n
const PERCENT = 100n
const MICRO_DIGITS = 6
const AMOUNT = /^(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/

/** Dollars as typed in micro-USD, exactly. Undefined for a text that is no amount above zero. */
export function microOf(text: string): bigint | undefined {
  const trimmed = text.trim()
  if (!AMOUNT.test(trimmed)) return undefined
  const [whole = '0', decimals = ''] = trimmed.split('.')
  const micro = BigInt(whole + decimals.padEnd(MICRO_DIGITS, '0'))
  return micro > 0n ? micro : undefined
}

type Split = { readonly paid: bigint; readonly net: bigint; readonly fee: bigint }

/**
 * The parts of a sale in micro-USD, rounded as the market does: the charge up, the seller's part down. The fee is the
 * rest.
 */
export function feeSplit(listMicro: bigint, discountPct: number, feeBps: number): Split {
  const paid = (listMicro * (PERCENT - BigInt(discountPct)) + PERCENT - 1n) / PERCENT
  const net = (paid * (WHOLE_BPS - BigInt(feeBps))) / WHOLE_BPS
  return { paid, net, fee: paid - net }
}
