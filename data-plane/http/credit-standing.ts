import { z } from 'zod'
import type { CreditStanding } from '#data-plane/reads/credits.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd, parseMicroUsd } from '#shared/money.ts'
import { askControl } from './ask-control.ts'

const Amount = z.string().transform(parseMicroUsd)
const Me = z.object({
  credit_balance_usdc: Amount,
  held_usdc: Amount,
  stats: z.object({
    total_spent: z
      .number()
      .int()
      .nonnegative()
      .transform((micro) => microUsd(BigInt(micro))),
  }),
})

/**
 * Reads an account's balance and the cost of its calls from the control plane, which owns both. Throws
 * `service_unavailable` while the control plane does not answer, and its `rate_limited`.
 */
export async function fetchCreditStanding(upstream: string, authorization: string): Promise<CreditStanding> {
  const answer = await askControl(upstream, '/v1/buyer/me', authorization).catch(unavailable)
  if (answer.status === 429) throw new AppError('rate_limited', { retryAfterSeconds: secondsOf(answer) })
  if (answer.status !== 200) throw unavailable(new Error(`the control plane answered ${answer.status}`))
  const me = await answer
    .json()
    .then((body) => Me.parse(body))
    .catch(unavailable)
  return { spendableMicro: me.credit_balance_usdc, heldMicro: me.held_usdc, usedMicro: me.stats.total_spent }
}

function secondsOf(answer: Response): number {
  return Number(answer.headers.get('retry-after') ?? 1)
}

function unavailable(cause: unknown): never {
  throw new AppError('service_unavailable', { cause, retryAfterSeconds: 2 })
}
