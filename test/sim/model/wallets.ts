import type { Hex } from 'viem'
import { concat, keccak256, pad, stringToBytes, toHex } from 'viem'
import { z } from 'zod'
import { ExactSigned, encodeHeader, UptoSigned } from '#data-plane/rails/x402/payment-header.ts'
import { exactHash, uptoHash } from '#data-plane/rails/x402/signed-hash.ts'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import type { Take } from '#test/sim/chain/chain.ts'
import type { Cheat, PaidScheme } from '#test/sim/plan/payment-plan.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Received } from './buyer-reply.ts'

/** The settlement account and the recipient of payments. */
export const FACILITATOR = '0x00000000000000000000000000000000000000fa'
export const TERMS = {
  network: 'eip155:8453',
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  assetName: 'USD Coin',
  assetVersion: '2',
  payTo: '0x00000000000000000000000000000000000000cc',
} as const satisfies Partial<PaymentTerms>

/** Wallets and their first balances, in micro-USD. */
export const WALLETS = [
  { payer: '0x00000000000000000000000000000000000000a1', openingMicro: 400_000n },
  { payer: '0x00000000000000000000000000000000000000a2', openingMicro: 60_000n },
  { payer: '0x00000000000000000000000000000000000000a3', openingMicro: 9_000n },
] as const

/** A payment as its wallet signed it. */
export type SignedByWallet = Take & {
  readonly headers: Readonly<Record<string, string>>
  readonly name: string
}

/** The demand for a payment: an entry of `accepts`, or a challenge. */
export type Demand =
  | {
      readonly by: 'x402'
      readonly isExact: boolean
      readonly amount: bigint
      readonly seconds: number
      readonly entry: object
    }
  | {
      readonly by: 'mpp'
      readonly isExact: true
      readonly amount: bigint
      readonly seconds: number
      readonly challenge: Challenge
    }

const Challenge = z.looseObject({ id: z.string(), realm: z.string(), request: z.string() })
type Challenge = z.infer<typeof Challenge>

type PaymentFields = {
  readonly payer: string
  readonly nonce: bigint
  readonly overMicro: bigint
  readonly now: number
  readonly cheat: Cheat | undefined
}

const Entry = z.looseObject({ scheme: z.string(), amount: z.coerce.bigint(), maxTimeoutSeconds: z.number() })
const Demands = z.object({ accepts: z.array(Entry) })
const MPP_SECONDS = 900

/** Finds a way to pay among the demands of a 402. Returns undefined when it is not offered. */
export function demandIn(
  { text, headers }: Pick<Received, 'text' | 'headers'>,
  scheme: PaidScheme,
): Demand | undefined {
  if (scheme === 'mpp') {
    const { 'www-authenticate': written = '' } = headers
    return written === '' ? undefined : demandOf(challengeIn(written))
  }
  const read = Demands.safeParse(JSON.parse(text))
  const entry = read.data?.accepts.find((one) => one.scheme === scheme)
  if (entry === undefined) return undefined
  return { by: 'x402', isExact: scheme === 'exact', amount: entry.amount, seconds: entry.maxTimeoutSeconds, entry }
}

function challengeIn(written: string): Challenge {
  return Challenge.parse(
    Object.fromEntries([...written.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value])),
  )
}

const Asked = z.looseObject({ amount: z.coerce.bigint() })
const askedIn = ({ request }: Challenge) => Asked.parse(JSON.parse(Buffer.from(request, 'base64url').toString()))

function demandOf(challenge: Challenge): Demand {
  return { by: 'mpp', isExact: true, amount: askedIn(challenge).amount, seconds: MPP_SECONDS, challenge }
}

/** Signs a payment. A cheat makes the payment invalid. */
export function signPayment(demand: Demand, { payer, nonce, overMicro, now, cheat }: PaymentFields): SignedByWallet {
  const until = BigInt(Math.floor(now / 1_000) + demand.seconds)
  const most = cheat === 'lower' ? demand.amount - 1n : demand.amount + (demand.isExact ? 0n : overMicro)
  const bounds = { until, most }
  const key = cheat === 'forged' || (cheat === 'other_nonce' && demand.by === 'x402') ? FORGER : payer
  if (demand.by === 'mpp') {
    const challenge = cheat === 'lower' ? lowered(demand.challenge, most) : demand.challenge
    const bound = BigInt(keccak256(stringToBytes(`${challenge.id}${challenge.realm}`)))
    const named = { payer, nonce: cheat === 'other_nonce' ? nonce : bound }
    const { authorization, signature } = signed(key, exactOf(named, bounds))
    const credential = { challenge, payload: { type: 'authorization', ...authorization, signature } }
    const authorized = `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`
    return {
      ...named,
      isExact: true,
      most,
      amount: most,
      until,
      headers: { authorization: authorized },
      name: nameOf(named),
    }
  }
  const named = { payer, nonce }
  const payload = demand.isExact ? signed(key, exactOf(named, bounds)) : signed(key, uptoOf(named, bounds))
  const header = encodeHeader({ x402Version: 2, accepted: { ...demand.entry, amount: most.toString() }, payload })
  const { isExact } = demand
  return { ...named, isExact, most, amount: most, until, headers: { 'payment-signature': header }, name: nameOf(named) }
}

const nameOf = ({ payer, nonce }: Named) => `${payer} ${nonce}`

function lowered(challenge: Challenge, amount: bigint): Challenge {
  const edited = { ...askedIn(challenge), amount: amount.toString() }
  return { ...challenge, request: Buffer.from(JSON.stringify(edited)).toString('base64url') }
}

type Bounds = { readonly until: bigint; readonly most: bigint }
type Named = { readonly payer: string; readonly nonce: bigint }

function exactOf({ payer, nonce }: Named, { until, most }: Bounds) {
  const authorization = {
    from: payer,
    to: TERMS.payTo,
    value: most.toString(),
    validAfter: '0',
    validBefore: until.toString(),
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  }
  return { authorization }
}

function uptoOf({ payer, nonce }: Named, { until, most }: Bounds) {
  const permit2Authorization = {
    from: payer,
    permitted: { token: TERMS.asset, amount: most.toString() },
    spender: UPTO_PROXY,
    nonce: nonce.toString(),
    deadline: until.toString(),
    witness: { to: TERMS.payTo, facilitator: FACILITATOR, validAfter: '0' },
  }
  return { permit2Authorization }
}

// Signatures of this world use no curve. They are the address of the key, and a hash of the address with the signed
// text.

/** A key that belongs to no wallet. */
const FORGER = '0x00000000000000000000000000000000000000f0'
const LOW_S = (1n << 254n) - 1n

function signatureOf(key: string, hash: Hex): Hex {
  const s = BigInt(keccak256(concat([asHex(key), hash]))) & LOW_S
  return concat([pad(asHex(key)), toHex(s, { size: 32 }), '0x1b'])
}

/** The key that signed a hash. */
export async function recoverWallet(hash: Hex, signature: Hex): Promise<string> {
  const key = `0x${signature.slice(26, 66)}`
  if (signatureOf(key, hash) !== signature) throw new Error('no signature of this hash')
  return key
}

type Unsigned = Omit<ExactSigned, 'signature'> | Omit<UptoSigned, 'signature'>

function hashOf(unsigned: Unsigned): Hex {
  const terms = { ...TERMS, isOpen: true, closedFor: null, facilitator: FACILITATOR, switchedOff: [] }
  return 'authorization' in unsigned
    ? exactHash(terms, { ...unsigned, signature: '' })
    : uptoHash(terms, { ...unsigned, signature: '' })
}

function signed<Of extends Unsigned>(key: string, unsigned: Of): Of & { readonly signature: Hex } {
  return { ...unsigned, signature: signatureOf(key, hashOf(unsigned)) }
}

/** True for a payment that its payer has signed. */
export function isSigned(payload: unknown): boolean {
  const exact = ExactSigned.safeParse(payload)
  const upto = UptoSigned.safeParse(payload)
  const read = exact.success ? exact.data : upto.data
  if (read === undefined) return false
  const { from } = 'authorization' in read ? read.authorization : read.permit2Authorization
  return read.signature === signatureOf(from, hashOf(read))
}

function asHex(text: string): Hex {
  return `0x${text.slice(2)}`
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
    payer: of('from').toLowerCase(),
    nonce: BigInt(of('nonce')),
    isExact,
    amount,
    most: BigInt(isExact ? of('value') : of('amount', permitted)),
    until: BigInt(of(isExact ? 'validBefore' : 'deadline')),
  }
}
