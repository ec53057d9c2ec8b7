import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd } from '#shared/money.ts'
import type { HoldRecord } from './hold.ts'
import { HOLD_STATES, HoldRecordSchema } from './hold.ts'
import { ackScript } from './money-scripts/ack.ts'
import { registerScript } from './money-scripts/register.ts'
import { reserveScript } from './money-scripts/reserve.ts'
import { settleScript } from './money-scripts/settle.ts'
import { capCountScript, capSettleScript, capTakeScript, seedUseScript } from './money-scripts/uses.ts'

/** A script as Redis loads it. It is run only by `sha`, its SHA-1 in hex. */
export type MoneyScript = { readonly sha: string; readonly text: string }

/** All scripts that change money in the gate. A rebuilder loads `reserve` last, because that script opens the gate. */
export type MoneyScripts = {
  readonly [Name in
    | 'settle'
    | 'register'
    | 'ack'
    | 'seedUse'
    | 'capTake'
    | 'capSettle'
    | 'capCount'
    | 'reserve']: MoneyScript
}

/** The scripts of one epoch. Only the rebuilder loads them. All others run them by digest. */
export function moneyScripts(epoch: number): MoneyScripts {
  return {
    settle: script(settleScript(epoch)),
    register: script(registerScript(epoch)),
    ack: script(ackScript(epoch)),
    seedUse: script(seedUseScript(epoch)),
    capTake: script(capTakeScript(epoch)),
    capSettle: script(capSettleScript(epoch)),
    capCount: script(capCountScript(epoch)),
    reserve: script(reserveScript(epoch)),
  }
}

function script(text: string): MoneyScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/**
 * The phases of a rebuild. Nodes join, then they register what they have. Then the caps of offers are counted, and a
 * node that registers later counts for itself. Then paid calls are admitted.
 */
const MONEY_PHASES = ['join', 'register', 'count', 'open'] as const
export type MoneyPhase = (typeof MONEY_PHASES)[number]
/**
 * A restore of the ledger, in Unix milliseconds: the instant to which it went back, and the one at which that was
 * noticed. Two restores of the same backup have the same `to`, but never the same `at`.
 */
export type LedgerRestore = { readonly to: number; readonly at: number }
export type MoneyEpoch = {
  readonly epoch: number
  readonly phase: MoneyPhase
  /** Set when the ledger was restored. Every node registers the captures again that may have been posted after `to`. */
  readonly restore?: LedgerRestore
}

/** Parses `m:epoch`. Undefined when it is absent or invalid, which asks for a rebuild. */
export function parseMoneyEpoch(text: string | null): MoneyEpoch | undefined {
  const match = /^([1-9]\d{0,14}):(\w+)(?::(\d{1,15}):(\d{1,15}))?$/.exec(text ?? '')
  const phase = MONEY_PHASES.find((name) => name === match?.[2])
  if (!match || !phase) return undefined
  const read = { epoch: Number(match[1]), phase }
  return match[3] === undefined ? read : { ...read, restore: { to: Number(match[3]), at: Number(match[4]) } }
}

export function formatMoneyEpoch({ epoch, phase, restore }: MoneyEpoch): string {
  return restore === undefined ? `${epoch}:${phase}` : `${epoch}:${phase}:${restore.to}:${restore.at}`
}

const StoredHold = z.object({
  ep: z.coerce.number().int().positive(),
  st: z.enum(HOLD_STATES),
  amt: z.string(),
  used: z.string().optional(),
  acct: z.string(),
  key: z.string().default(''),
  node: z.string(),
  t0: z.coerce.number().int(),
  exp: z.coerce.number().int(),
  ev: z.string().optional(),
  why: z.string().optional(),
  pa: z.coerce.number().int().optional(),
})

/** Parses a hold from the fields of its hash. Undefined for a missing or damaged one. */
export function readHold(hash: Readonly<Record<string, string>>): HoldRecord | undefined {
  const stored = StoredHold.safeParse(hash)
  if (!stored.success) return undefined
  const { ep, st, amt, used, acct, key, node, t0, exp, ev, why, pa } = stored.data
  const hold = HoldRecordSchema.safeParse({
    epoch: ep,
    state: st,
    amount: amt,
    used: used ?? null,
    account: acct,
    keyId: key,
    node,
    openedAt: t0,
    expiresAt: exp,
    event: ev ?? null,
    reason: why ?? null,
    postedAt: pa ?? null,
  })
  return hold.success ? hold.data : undefined
}

/** Fields of an account's hash in the order in which {@link readAccount} takes them. */
export const ACCOUNT_FIELDS = ['ep', 'p', 'h', 'u', 'seeded', 'ver'] as const

export type GateAccount = {
  readonly epoch: number
  readonly postedMicro: MicroUsd
  readonly heldMicro: MicroUsd
  readonly unpostedMicro: MicroUsd
  /** False until the ledger's balance has arrived. Until then `postedMicro` means nothing. */
  readonly isSeeded: boolean
  readonly version: bigint | null
}

/** Parses an account from its fields. Undefined for an account that the gate does not have. */
export function readAccount(fields: readonly (string | null)[]): GateAccount | undefined {
  const [epoch, posted, held, unposted, seeded, version] = fields
  if (epoch == null) return undefined
  return {
    epoch: Number(epoch),
    postedMicro: parseMicroUsd(posted ?? '0'),
    heldMicro: parseMicroUsd(held ?? '0'),
    unpostedMicro: parseMicroUsd(unposted ?? '0'),
    isSeeded: seeded === '1',
    version: version == null ? null : BigInt(version),
  }
}
