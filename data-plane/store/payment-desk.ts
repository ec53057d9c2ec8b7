import type { PaymentDesk } from '#data-plane/payment.ts'
import type { Cancel, Time } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import {
  ClaimAnswerSchema,
  INTERNAL_TOKEN_HEADER,
  PAYMENTS_PATH,
  PaymentTermsSchema,
  SettleAnswerSchema,
  WalletAnswerSchema,
} from '#shared/contract/chain-payments.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { Secret } from '#shared/secret.ts'

const TERMS_EVERY_MS = 2 * SECOND
/**
 * Interval until the first terms are known: the planes start side by side, and until then a 402 offers no way to pay.
 */
const FIRST_TERMS_EVERY_MS = SECOND / 4
/**
 * Older terms are dropped: it is unknown whether payments are still taken. The desk decides again on each claim, so
 * terms may outlive a pause of either process, or of the whole machine.
 */
const TERMS_GOOD_MS = MINUTE
/** Wait for the terms, and for the answer to a claim. */
const CLAIM_MS = 8 * SECOND
const WALLET_MS = 5 * SECOND
/** Milliseconds that a request may take beyond the desk's own wait for the chain. */
const BEYOND_WAIT_MS = 4 * SECOND
const RETRY_SECONDS = 2

export type PaymentDeskStore = PaymentDesk & { start(): Promise<void>; close(): void }

type Parts = {
  /** The control plane's address. */
  readonly url: string
  readonly token: Secret
  readonly clock: Time
  readonly log: Logger
}

/** The desk of a control plane that takes payments by wallets. */
export function openPaymentDesk({ url, token, clock, log }: Parts): PaymentDeskStore {
  const headers = { [INTERNAL_TOKEN_HEADER]: token.reveal(), 'content-type': 'application/json' }
  let knownTerms: { readonly terms: PaymentTerms; readonly at: number } | undefined
  let cancel: Cancel | undefined
  let isClosed = false

  /** Throws when the desk is away, or refuses. */
  async function ask(path: string, body: object | undefined, timeoutMs: number): Promise<unknown> {
    const answer = await fetch(`${url}${PAYMENTS_PATH}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (answer.status === 200) return answer.json()
    await answer.body?.cancel()
    throw new Error(`the desk for payments answered ${answer.status}`)
  }

  async function refresh(): Promise<void> {
    try {
      const terms = PaymentTermsSchema.parse(await ask('terms', undefined, CLAIM_MS))
      knownTerms = { terms, at: clock.monotonic() }
    } catch (error) {
      log.debug({ cause: describeCause(error) }, 'the desk for payments does not answer')
    }
  }

  function planRefresh(): void {
    if (isClosed) return
    const everyMs = knownTerms === undefined ? FIRST_TERMS_EVERY_MS : TERMS_EVERY_MS
    cancel = clock.after(everyMs, () => void refresh().then(planRefresh))
  }

  return {
    terms() {
      const isGood = knownTerms?.terms.isOpen === true && clock.monotonic() - knownTerms.at < TERMS_GOOD_MS
      return isGood ? knownTerms?.terms : undefined
    },
    async isContract(wallet) {
      try {
        return WalletAnswerSchema.parse(await ask('wallet', { wallet }, WALLET_MS)).isContract ?? undefined
      } catch (error) {
        log.debug({ cause: describeCause(error) }, 'it is unknown whether a wallet is a contract')
        return undefined
      }
    },
    async claim(claim) {
      try {
        return ClaimAnswerSchema.parse(await ask('claim', claim, CLAIM_MS))
      } catch (cause) {
        throw new AppError('service_unavailable', { cause, retryAfterSeconds: RETRY_SECONDS })
      }
    },
    async claimAgain(claims) {
      await ask('claims-again', { claims }, CLAIM_MS)
    },
    async settle(owed) {
      try {
        return SettleAnswerSchema.parse(await ask('settle', owed, owed.waitMs + BEYOND_WAIT_MS))
      } catch (error) {
        log.warn({ rid: owed.rid, cause: describeCause(error) }, 'a payment will be settled later')
        return undefined
      }
    },
    async release(rid) {
      await ask('release', { rid }, CLAIM_MS).catch((error: unknown) =>
        log.debug({ rid, cause: describeCause(error) }, 'a claim was left to run out'),
      )
    },
    async start() {
      await refresh()
      planRefresh()
    },
    close() {
      isClosed = true
      cancel?.()
    },
  }
}

/** The desk of a data plane without a control plane. No wallet can pay there. */
export const NO_PAYMENT_DESK: PaymentDeskStore = {
  terms: () => undefined,
  isContract: () => Promise.resolve(undefined),
  claim: () => Promise.reject(new AppError('service_unavailable')),
  claimAgain: () => Promise.resolve(),
  settle: () => Promise.resolve(undefined),
  release: () => Promise.resolve(),
  start: () => Promise.resolve(),
  close: () => undefined,
}
