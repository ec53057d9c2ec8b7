import type { AccountPayer } from '#data-plane/payment.ts'
import type { ReadKeyStanding } from '#data-plane/store/key-standing.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { RateLimits } from '#data-plane/store/rate-limits.ts'
import type { Clock } from '#shared/clock.ts'
import { nextUtcDay, nextUtcMonth, SECOND } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd, microUsdToDollars, subtractToZero } from '#shared/money.ts'
import { bearerOf } from './bearer.ts'

export type KeySources = {
  readonly buyerKeys: {
    identify(key: string): Promise<AccountPayer>
    /** The owner's name of an identified key, and its expiry in Unix milliseconds. */
    aboutOf(key: string): KeyAbout
  }
  /** Reads the ledger's figures for a key; undefined while they are unknown. */
  readonly useOf: (authorization: string, keyId: string, now: number) => Promise<KeyUse | undefined>
  readonly standingOf: ReadKeyStanding
  readonly rates: Pick<RateLimits, 'look'>
  readonly market: () => Market
  readonly clock: Clock
}

export type KeyAbout = { readonly label: string; readonly expiresAt: number | null }

/** The use of a key: in all, and since the start of the UTC month, of the week's Monday, and of the day. */
export type KeyUse = {
  readonly totalMicro: MicroUsd
  readonly monthMicro: MicroUsd
  readonly weekMicro: MicroUsd
  readonly dayMicro: MicroUsd
}

/**
 * `GET /v1/key`: limits and standing of the asking key, with OpenRouter's member names under `data` and the market's
 * own beside them. Throws AppError: `authentication_required`, `invalid_api_key`, `wrong_key_type`,
 * `service_unavailable`.
 */
export async function readKey(sources: KeySources, authorization: string | undefined): Promise<object> {
  const key = bearerOf(authorization)
  const payer = await sources.buyerKeys.identify(key)
  const now = sources.clock.now()
  const [standing, use] = await Promise.all([
    sources.standingOf(payer),
    payer.keyId === null ? undefined : sources.useOf(`Bearer ${key}`, payer.keyId, now),
  ])
  const { label, expiresAt } = sources.buyerKeys.aboutOf(key)
  const { keyRatePerMinute, keyInFlight } = sources.market().limits
  const rate = sources.rates.look(payer.keyId ?? payer.account, payer.ratePerMinute ?? keyRatePerMinute)
  const day = capOf(payer.caps.dailyMicro, standing.dayMicro, nextUtcDay(now) / SECOND)
  const month = capOf(payer.caps.monthlyMicro, standing.monthMicro, nextUtcMonth(now) / SECOND)
  const budgets = (payer.caps.budgets ?? []).map(({ of, limitMicro }, at) => ({
    of,
    ...capOf(limitMicro, standing.budgetsMicro[at] ?? null, nextUtcMonth(now) / SECOND),
  }))
  const tightest = tightestOf([
    { name: 'daily', ...day },
    { name: 'monthly', ...month },
    ...budgets.map((budget) => ({ name: 'monthly', ...budget })),
  ])
  return {
    data: {
      key_id: payer.keyId,
      label,
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      limit: dollars(tightest?.limitMicro ?? null),
      limit_remaining: dollars(tightest?.leftMicro ?? null),
      limit_reset: tightest?.name ?? null,
      usage: dollars(use?.totalMicro ?? null),
      // The gate has the newest figure, but only for a key with a cap.
      usage_daily: dollars(standing.dayMicro ?? use?.dayMicro ?? null),
      usage_weekly: dollars(use?.weekMicro ?? null),
      usage_monthly: dollars(standing.monthMicro ?? use?.monthMicro ?? null),
      ...OPENROUTER_CONSTANTS,
      spendable_usdc: standing.spendableMicro === null ? null : formatMicroUsd(standing.spendableMicro),
      daily: capText(day),
      monthly: capText(month),
      budgets: budgets.map(({ of, usedMicro, leftMicro, ...budget }) => ({
        budget_of: of,
        limit_usdc: text(budget.limitMicro),
        used_usdc: text(usedMicro),
        left_usdc: text(leftMicro),
        resets_at: budget.resetsAt,
      })),
      rate_limit: {
        requests: rate.limit,
        interval: '1m',
        note: 'Calls of this key in a minute.',
        remaining: rate.remaining,
        resets_at: rate.resetAt,
        in_flight: rate.inFlight,
        max_in_flight: keyInFlight,
      },
      min_discount_pct: payer.floorPercents.reduce<number | null>(strictest, null),
      providers_blocked: payer.providersBlocked,
      allow_untrusted: payer.allowsUntrusted ?? false,
      models_allowed: payer.modelsAllowed,
    },
  }
}

/**
 * Members that OpenRouter's clients require and that are the same for every buyer key. Own providers cost nothing here.
 */
const OPENROUTER_CONSTANTS = {
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  include_byok_in_limit: false,
  is_free_tier: false,
  is_management_key: false,
  is_provisioning_key: false,
  free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
  allowed_data_regions: [],
  creator_user_id: null,
  organization_id: null,
  workspace_id: null,
}

type Cap = {
  readonly limitMicro: MicroUsd | null
  readonly usedMicro: MicroUsd | null
  readonly leftMicro: MicroUsd | null
  readonly resetsAt: number
}

function capOf(limitMicro: MicroUsd | null, usedMicro: MicroUsd | null, resetsAt: number): Cap {
  const leftMicro = limitMicro === null || usedMicro === null ? null : subtractToZero(limitMicro, usedMicro)
  return { limitMicro, usedMicro, leftMicro, resetsAt }
}

type NamedCap = Cap & { readonly name: string }

/** The limit that is reached first. Limits whose use is unknown come last. */
function tightestOf(caps: readonly NamedCap[]): NamedCap | undefined {
  const limits = caps.filter(({ limitMicro }) => limitMicro !== null)
  const [least] = limits
    .filter(({ leftMicro }) => leftMicro !== null)
    .sort((left, right) => Number(left.leftMicro) - Number(right.leftMicro))
  return least ?? limits[0]
}

function capText({ limitMicro, usedMicro, leftMicro, resetsAt }: Cap): object | null {
  if (limitMicro === null) return null
  return {
    cap_usdc: formatMicroUsd(limitMicro),
    used_usdc: text(usedMicro),
    left_usdc: text(leftMicro),
    resets_at: resetsAt,
  }
}

function text(amount: MicroUsd | null): string | null {
  return amount === null ? null : formatMicroUsd(amount)
}

function dollars(amount: MicroUsd | null): number | null {
  return amount === null ? null : microUsdToDollars(amount)
}

function strictest(most: number | null, floor: number | undefined): number | null {
  return floor === undefined ? most : Math.max(most ?? 0, floor)
}
