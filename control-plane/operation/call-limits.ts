import type { CallLimit } from '#control-plane/ports/limits/controls.ts'
import type { LimitState } from '#control-plane/ports/limits/limiter.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Actor } from './actor.ts'
import { credentialOf } from './actor.ts'
import type { Ctx, LimitKind } from './ctx.ts'

export type CountOptions = {
  /** The network address of the caller, as limits count it. Absent for calls inside the process. */
  readonly peer?: string
  /** Receives the state of the tightest limit that counted the call. */
  readonly onLimit?: (state: LimitState) => void
}

/** A call and the limit that counts it. */
type Counting = {
  readonly ctx: Pick<Ctx, 'clock' | 'controls' | 'limiter' | 'settings'>
  readonly kind: LimitKind | 'none'
  readonly options: CountOptions
}
/** A counter that a call adds to: that of a key, a wallet, or a network address. */
type Counter = { readonly source: 'key' | 'wallet' | 'address'; readonly who: string; readonly most: number }

/** The limit of a network address over all subjects, as a multiple of the limit of one subject. */
const SUBJECTS_PER_ADDRESS = 20
/**
 * The reads of a user of the page, as a multiple of a key's: a screen makes up to ten reads, in each tab. A visitor
 * who has not signed in shares the reads of the network address with all visitors from that address.
 */
const PAGE_READS = 4

/**
 * Counts a call for its credential and its wallet, or for the address of a caller without a credential. Throws
 * `rate_limited`.
 */
export async function countCall(counting: Counting, actor: Actor): Promise<void> {
  if (actor.kind === 'operator') return
  const isPage = actor.kind === 'nobody' || actor.kind === 'session'
  const times = isPage && counting.kind === 'read' ? PAGE_READS : 1
  if (actor.kind === 'nobody') {
    return countOn(counting, ({ perKey }) => [{ source: 'address', who: peerOf(counting), most: perKey * times }])
  }
  await countOn(counting, ({ perKey, perWallet }) => [
    { source: 'key', who: credentialOf(actor), most: perKey * times },
    ...(perWallet === null || !('wallet' in actor)
      ? []
      : [{ source: 'wallet' as const, who: actor.wallet ?? actor.user, most: perWallet }]),
  ])
}

/**
 * Counts a call for its network address, and for that address and subject when a subject is given. Throws
 * `rate_limited`.
 */
export async function countStranger(counting: Counting, subject?: string): Promise<void> {
  const peer = peerOf(counting)
  await countOn(counting, ({ perKey }) => {
    if (subject === undefined) return [{ source: 'address', who: peer, most: perKey }]
    return [
      { source: 'address', who: `${peer}:${subject}`, most: perKey },
      { source: 'address', who: peer, most: perKey * SUBJECTS_PER_ADDRESS },
    ]
  })
}

function peerOf({ options }: Counting): string {
  return options.peer ?? 'nowhere'
}

/**
 * Counts a call for the wallet that its signature proved. The wallet's keys are counted apart. Throws `rate_limited`.
 */
export async function countWallet(counting: Counting, wallet: string): Promise<void> {
  await countOn(counting, ({ perKey }) => [{ source: 'wallet', who: `proved:${wallet}`, most: perKey }])
}

/**
 * Adds the call to every counter and reports the tightest. Throws `rate_limited` for the first counter that is
 * exceeded.
 */
async function countOn(
  { ctx, kind, options }: Counting,
  countersOf: (limit: CallLimit) => readonly Counter[],
): Promise<void> {
  if (kind === 'none') return
  const states: { readonly source: Counter['source']; readonly state: LimitState }[] = []
  for (const { source, who, most } of countersOf(await ctx.controls.limitOf(kind, ctx.settings.rateLimits[kind]))) {
    states.push({ source, state: await ctx.limiter(`${kind}:${source}:${who}`, most) })
  }
  const exceeded = states.find(({ state }) => state.isExceeded)
  const [tightest] = exceeded ? [exceeded] : states.sort((a, b) => a.state.remaining - b.state.remaining)
  if (tightest !== undefined) options.onLimit?.(tightest.state)
  if (exceeded) {
    const { limit, resetsAt } = exceeded.state
    throw new AppError('rate_limited', {
      retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - ctx.clock.now()) / SECOND)),
      detail: { limit_source: exceeded.source, limit, resets_at: resetsAt },
    })
  }
}
