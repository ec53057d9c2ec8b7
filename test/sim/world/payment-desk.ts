import { claimPayment } from '#control-plane/services/payments/claim-payment.ts'
import { isContract } from '#control-plane/services/payments/is-contract.ts'
import { keepClaims } from '#control-plane/services/payments/rebuild-claim.ts'
import { releasePayment, settlePayment } from '#control-plane/services/payments/settle-payment.ts'
import type { PaymentDesk } from '#data-plane/payment.ts'
import { ClaimAskSchema, HeldClaimsSchema, ReleaseAskSchema, SettleAskSchema } from '#shared/contract/chain-payments.ts'
import { AppError } from '#shared/errors.ts'
import type { ChainHost } from '#test/sim/chain/chain-host.ts'
import { FACILITATOR, TERMS } from '#test/sim/model/wallets.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { PaymentWorker, Worker } from './worker.ts'

/** Limits of waiting, equal to those of the product's own desk (data-plane/store/payment-desk.ts). */
const CLAIM_MS = 8_000
const BEYOND_WAIT_MS = 4_000

type Parts = Pick<ChainHost, 'unknownWallets'> & {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly workers: () => readonly Worker[]
}

/** The desk for payments as seen by a data plane: any living worker, over a network with latency. */
export function createSimDesk({ scheduler, random, workers, unknownWallets }: Parts, owner: SimProcess): PaymentDesk {
  const living = () => workers().flatMap((worker) => worker.payments() ?? [])

  /** Rejects without an answer. The request may take effect nevertheless. */
  function ask<Answer>(timeoutMs: number, run: (worker: PaymentWorker) => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const cancel = owner.time.after(timeoutMs, () => reject(new Error('the desk does not answer')))
      const answer = (tell: () => void) =>
        owner.time.after(0.3, () => {
          cancel()
          tell()
        })
      scheduler.after(0.3 + random.fraction(), () => {
        const [first, second = first] = living()
        if (first === undefined || second === undefined) {
          answer(() => reject(new Error('the desk is away')))
          return
        }
        run(random.chance(0.5) ? first : second).then(
          (result) => answer(() => resolve(result)),
          (error: unknown) => answer(() => reject(error)),
        )
      })
    })
  }

  return {
    terms: () => {
      if (living().length === 0) return undefined
      return { isOpen: true, closedFor: null, ...TERMS, facilitator: FACILITATOR, switchedOff: [] }
    },
    isContract: (wallet) =>
      ask(CLAIM_MS, ({ ctx }) => isContract(ctx, wallet))
        .catch(() => null)
        .then((told) => {
          if (told === null) unknownWallets.add(wallet)
          return told ?? undefined
        }),
    async claim(given) {
      try {
        return await ask(CLAIM_MS, ({ ctx }) => claimPayment(ctx, ClaimAskSchema.parse(given)))
      } catch (cause) {
        throw new AppError('service_unavailable', { cause })
      }
    },
    claimAgain: (claims) => ask(CLAIM_MS, ({ ctx }) => keepClaims(ctx, HeldClaimsSchema.parse({ claims }).claims)),
    settle: (given) =>
      ask(given.waitMs + BEYOND_WAIT_MS, ({ ctx }) => settlePayment(ctx, SettleAskSchema.parse(given))).catch(
        () => undefined,
      ),
    release: (rid) =>
      ask(CLAIM_MS, ({ ctx }) => releasePayment(ctx, ReleaseAskSchema.parse({ rid }).rid)).catch(() => undefined),
  }
}
