import { isChainSender } from '#control-plane/db/chain-transactions.ts'
import type { Database } from '#control-plane/db/database.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { FacilitatorStanding, PaymentParts } from '#control-plane/ports/facilitator/payment-parts.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { chainIdOf } from '#shared/contract/chain-payments.ts'
import type { PaymentCtx } from './payment-ctx.ts'

/**
 * Milliseconds for which the facilitator's answer, or its silence, counts; and after which its silence closes payments.
 */
const FRESH_MS = 5 * SECOND
const DEAD_AFTER_MS = MINUTE

/** The terms without the operators' switches. */
type ChainTerms = Omit<PaymentTerms, 'switchedOff'>

/** The terms on which wallets pay now. Payments are closed while the chain or the facilitator is out of reach. */
export async function readPaymentTerms({ payments, clock, log }: PaymentCtx): Promise<ChainTerms> {
  const { network, asset, assetName, assetVersion, payTo, memory } = payments
  const now = clock.monotonic()
  if (memory.standing === undefined || now - memory.standing.at > FRESH_MS) {
    memory.asking ??= ask(payments, clock.monotonic)
      .then((standing) => {
        memory.standing = standing
      })
      .catch((error: unknown) => {
        memory.silentAt = clock.monotonic()
        log.warn({ err: error }, 'payments by wallet: the chain or the facilitator is silent')
      })
      .finally(() => {
        memory.asking = undefined
      })
    // The earlier answer is used until then. It says nothing when nobody has asked since it ended.
    if (!stillCounts(memory.standing, now) && now - memory.silentAt > FRESH_MS) await memory.asking
  }
  const { standing } = memory
  const closedFor = whyClosed(standing, clock.monotonic())
  const facilitator = standing?.facilitator ?? null
  return { isOpen: closedFor === null, closedFor, network, asset, assetName, assetVersion, payTo, facilitator }
}

function whyClosed(standing: FacilitatorStanding | undefined, now: number): string | null {
  if (!stillCounts(standing, now)) return 'chain_unreachable'
  return standing.schemes.has('exact') ? null : 'no_gas_or_kinds'
}

function stillCounts(standing: FacilitatorStanding | undefined, now: number): standing is FacilitatorStanding {
  return standing !== undefined && now - standing.at <= DEAD_AFTER_MS
}

type SettlerCtx = Omit<PaymentCtx, 'payments'> & Pick<Ctx, 'payments'> & { readonly db: Database }

/**
 * True for a sender of Permit2 authorizations of claimed payments: our settlement key, or an earlier one. A hosted
 * facilitator also sends payments of strangers, so it counts only while the ledger may lack claims. Throws while the
 * sender cannot be classified.
 */
export async function isOurSettler(ctx: SettlerCtx, sender: string): Promise<boolean> {
  const { payments } = ctx
  if (payments?.settler === sender || (await isChainSender(ctx.db, sender))) return true
  if (payments === null || payments.settler !== null) return false
  if ((await ctx.ledger.readEpoch()).restore === undefined) return false
  const { facilitator } = await readPaymentTerms({ ...ctx, payments })
  if (facilitator === null) throw new Error('the facilitator did not name its wallet')
  return facilitator.toLowerCase() === sender
}

async function ask({ facilitator, network, chain }: PaymentParts, now: () => number): Promise<FacilitatorStanding> {
  const [supported] = await Promise.all([facilitator.supported(), chain?.checkChain(chainIdOf(network))])
  const ours = supported.kinds.filter((kind) => kind.network === network && kind.x402Version === 2)
  const settler = ours.find(({ scheme }) => scheme === 'upto')?.extra?.['facilitatorAddress']
  return {
    at: now(),
    facilitator: typeof settler === 'string' ? settler : null,
    schemes: new Set(ours.map(({ scheme }) => scheme)),
  }
}
