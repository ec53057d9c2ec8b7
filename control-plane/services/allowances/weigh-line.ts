import type { AllowanceLine } from '#control-plane/db/allowances.ts'
import type { LineState } from '#control-plane/db/tables/allowances.ts'
import type { AllowanceSettings } from '#control-plane/operation/ctx.ts'
import type { WalletReading } from '#control-plane/ports/treasury/treasury-chain.ts'
import { lowerBigint } from '#shared/bigints.ts'

/** Reasons to stop a line. The first two are error codes, too. */
export const STOPS = {
  balance: 'insufficient_balance',
  allowance: 'insufficient_allowance',
  reverted: 'token_refused',
  treasury: 'treasury_changed',
} as const

/** The next step of a line. Amounts are micro-USD. */
export type LineVerdict = {
  readonly state: LineState
  readonly reason: string | null
  /** Credit to advance, and unspent credit to take back. One of the two is 0. */
  readonly advance: bigint
  readonly recall: bigint
  /** The amount to draw from the wallet now. 0 draws nothing. */
  readonly draw: bigint
  /** True when a draw is due that the wallet cannot pay. */
  readonly isShort: boolean
}

type Weighed = Pick<AllowanceLine, 'state' | 'reason' | 'posted' | 'advanced' | 'drawing' | 'owedSince' | 'retryAt'>
type Ground = {
  /** Undefined for a line of another treasury, from which this market cannot draw. */
  readonly reading: WalletReading | undefined
  readonly settings: Pick<AllowanceSettings, 'lineMicro' | 'batchMicro' | 'batchMs'>
  /** The further credit that all accounts together may be advanced. */
  readonly room: bigint
  readonly now: number
}

/** The spent part of the advanced credit. An account's own credit is spent first. */
export function owedOf({ posted, advanced }: Pick<Weighed, 'posted' | 'advanced'>): bigint {
  return posted < advanced ? advanced - posted : 0n
}

/** The smaller of a wallet's balance and allowance, by name: the bound of its payments. */
export function bindingOf({ balance, allowance }: WalletReading): 'balance' | 'allowance' {
  return allowance < balance ? 'allowance' : 'balance'
}

/**
 * Weighs the wallet's balance and allowance against the advance. An advance, spent or not, never rises above the amount
 * that the wallet could pay now. Tokens of a draw under way may have left the wallet before their credit is booked, so
 * credit is taken back only when wallet and draw together do not cover the advance.
 */
export function weighLine(line: Weighed, { reading, settings, room, now }: Ground): LineVerdict {
  const { lineMicro, batchMicro, batchMs } = settings
  const owed = owedOf(line)
  const covered = reading === undefined ? 0n : lowerBigint(reading.balance, reading.allowance)
  const binding = reading === undefined ? 'treasury' : bindingOf(reading)
  const { state, reason } = nextState(line, { owed, covered, binding })
  const isOpen = state === 'open'
  const most = isOpen ? lowerBigint(lowerBigint(covered, lineMicro), line.advanced + room) : 0n
  const keptMicro = isOpen ? lowerBigint(covered + line.drawing, lineMicro) : 0n
  const isAged = line.owedSince !== null && line.owedSince.getTime() + batchMs <= now
  const mayTry = line.drawing === 0n && (line.retryAt === null || line.retryAt.getTime() <= now)
  const isDue = owed > 0n && mayTry && (owed >= batchMicro || isAged || !isOpen)
  return {
    state,
    reason,
    advance: most > line.advanced ? most - line.advanced : 0n,
    recall: line.advanced > keptMicro ? line.advanced - keptMicro : 0n,
    draw: isDue ? lowerBigint(owed, covered) : 0n,
    isShort: isDue && covered < owed,
  }
}

type Standing = { readonly owed: bigint; readonly covered: bigint; readonly binding: keyof typeof STOPS }

/**
 * A line stops as soon as its wallet cannot pay the debt. It resumes once the debt is paid and the wallet has money.
 */
function nextState(
  { state, reason, drawing }: Weighed,
  { owed, covered, binding }: Standing,
): Pick<LineVerdict, 'state' | 'reason'> {
  const isLost = binding === 'treasury' || owed - drawing > covered
  if (state === 'open' && isLost) return { state: 'stopped', reason: STOPS[binding] }
  if (state === 'stopped' && owed === 0n && drawing === 0n && covered > 0n) return { state: 'open', reason: null }
  return { state, reason }
}
