import type { AccountPayer } from '#data-plane/payment.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatDollars, microUsdToDollars, sum } from '#shared/money.ts'
import { bearerOf } from './bearer.ts'

/** Credit of an account: the spendable amount, the amount held by calls under way, and the cost of booked calls. */
export type CreditStanding = {
  readonly spendableMicro: MicroUsd
  readonly heldMicro: MicroUsd
  readonly usedMicro: MicroUsd
}

export type CreditSources = {
  readonly buyerKeys: { identify(key: string): Promise<AccountPayer> }
  /** Reads the key's account from the control plane; undefined without a control plane. */
  readonly creditOf: ((authorization: string, account: AccountId) => Promise<CreditStanding>) | undefined
}

/**
 * `GET /v1/credits`: the credit of the key's account, in US dollars. `data` has OpenRouter's members, whose difference
 * is the remaining credit; `balance` and `total_used` are those of the AI Gateway's clients, as texts. Throws AppError:
 * `authentication_required`, `invalid_api_key`, `wrong_key_type`, `service_unavailable`.
 */
export async function readCredits(sources: CreditSources, authorization: string | undefined): Promise<object> {
  const key = bearerOf(authorization)
  const { account } = await sources.buyerKeys.identify(key)
  if (sources.creditOf === undefined) throw new AppError('service_unavailable')
  const { spendableMicro, heldMicro, usedMicro } = await sources.creditOf(`Bearer ${key}`, account)
  return {
    data: {
      total_credits: microUsdToDollars(sum([spendableMicro, heldMicro, usedMicro])),
      total_usage: microUsdToDollars(usedMicro),
    },
    balance: formatDollars(spendableMicro),
    total_used: formatDollars(usedMicro),
  }
}
