import { encodeHeader } from '#data-plane/rails/x402/payment-header.ts'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import type { Take } from './chain.ts'
import { violation } from './violation.ts'

/** Who settles, and where payments go. */
export const FACILITATOR = '0x00000000000000000000000000000000000000fa'
export const TERMS = {
  network: 'eip155:8453',
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  assetName: 'USD Coin',
  assetVersion: '2',
  payTo: '0x00000000000000000000000000000000000000cc',
} as const satisfies Partial<PaymentTerms>

/** Wallets and what they have at first, in micro-USD. */
export const WALLETS = [
  { payer: '0x00000000000000000000000000000000000000a1', openingMicro: 400_000n },
  { payer: '0x00000000000000000000000000000000000000a2', openingMicro: 60_000n },
  { payer: '0x00000000000000000000000000000000000000a3', openingMicro: 9_000n },
] as const

/** A payment as its wallet signed it. */
export type SignedByWallet = Take & { readonly header: string; readonly name: string }

/** The members that a wallet reads in an entry of `accepts`. */
type Accepts = { readonly scheme: string; readonly amount: string; readonly maxTimeoutSeconds: number }

type Wish = { readonly payer: string; readonly nonce: bigint; readonly overMicro: bigint; readonly now: number }

/** Finds a scheme among the demands of a 402; undefined where it is not offered. */
export function demandIn(text: string, scheme: string): Accepts | undefined {
  const read: unknown = JSON.parse(text)
  const accepts = typeof read === 'object' && read !== null && 'accepts' in read ? read.accepts : undefined
  if (!Array.isArray(accepts)) return undefined
  return accepts.filter(isDemand).find((demand) => demand.scheme === scheme)
}

function isDemand(entry: unknown): entry is Accepts {
  return typeof entry === 'object' && entry !== null && 'scheme' in entry && 'amount' in entry
}

/** Signs a payment. Nobody checks signatures here; everything else is checked as it is on a chain. */
export function signPayment(demand: Accepts, { payer, nonce, overMicro, now }: Wish): SignedByWallet {
  const isExact = demand.scheme === 'exact'
  const most = BigInt(demand.amount) + (isExact ? 0n : overMicro)
  const until = BigInt(Math.floor(now / 1_000) + demand.maxTimeoutSeconds)
  const bounds = { until, most }
  const signed = isExact ? exactOf({ payer, nonce }, bounds) : uptoOf({ payer, nonce }, bounds)
  const payload = { signature: `0x${'5a'.repeat(65)}`, ...signed }
  const header = encodeHeader({ x402Version: 2, accepted: { ...demand, amount: most.toString() }, payload })
  return { payer, nonce, isExact, most, amount: most, until, header, name: `${payer} ${nonce}` }
}

type Bounds = { readonly until: bigint; readonly most: bigint }
type Named = { readonly payer: string; readonly nonce: bigint }

function exactOf({ payer, nonce }: Named, { until, most }: Bounds) {
  const authorization = {
    ...{ from: payer, to: TERMS.payTo, value: most.toString(), validAfter: '0', validBefore: until.toString() },
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  }
  return { authorization }
}

function uptoOf({ payer, nonce }: Named, { until, most }: Bounds) {
  const permit2Authorization = {
    ...{ from: payer, permitted: { token: TERMS.asset, amount: most.toString() }, spender: UPTO_PROXY },
    ...{ nonce: nonce.toString(), deadline: until.toString() },
    witness: { to: TERMS.payTo, facilitator: FACILITATOR, validAfter: '0' },
  }
  return { permit2Authorization }
}

/** Reads the members of a signed payment that a chain reads. */
export function takeOf(payload: Readonly<Record<string, unknown>>, amount: bigint): Take {
  const { authorization, permit2Authorization: permit } = payload
  const [isExact, signed] = [authorization !== undefined, authorization ?? permit]
  const of = (name: string, from: unknown = signed): string => {
    const member =
      typeof from === 'object' && from !== null ? Object.entries(from).find(([key]) => key === name) : undefined
    if (typeof member?.[1] === 'string') return member[1]
    throw violation('simulation', `a payment without ${name}`)
  }
  const permitted =
    typeof permit === 'object' && permit !== null && 'permitted' in permit ? permit.permitted : undefined
  return {
    ...{ payer: of('from').toLowerCase(), nonce: BigInt(of('nonce')), isExact, amount },
    most: BigInt(isExact ? of('value') : of('amount', permitted)),
    until: BigInt(of(isExact ? 'validBefore' : 'deadline')),
  }
}
