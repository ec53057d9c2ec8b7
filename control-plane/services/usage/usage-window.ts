import { z } from 'zod'
import { Instant } from '#control-plane/services/input-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** Lengths of periods that end now, in milliseconds. Null covers all time. */
const PERIODS = { '24h': DAY, '7d': 7 * DAY, '30d': 30 * DAY, '90d': 90 * DAY, lifetime: null } as const
export const PERIOD_NAMES = ['24h', '7d', '30d', '90d', 'lifetime'] as const
export type Period = (typeof PERIOD_NAMES)[number]

/**
 * The input of a window: a period that ends now, of whole hours or UTC days with the running one, or `from` (included)
 * and `to` (excluded), each optional.
 */
export const WindowFields = {
  period: z
    .enum(PERIOD_NAMES)
    .optional()
    .describe('`24h` is the running hour and the 23 hours before. Days are UTC days, today included.'),
  from: Instant.optional(),
  to: Instant.optional(),
}

export type Window = { readonly from: number; readonly to: number }

/** A call counts by the time of its admission. The window includes calls of this millisecond. */
const NEXT_MS = 1

/**
 * Reads the window in Unix milliseconds, `to` excluded. Throws `invalid_request` for a period together with `from` or
 * `to`, and for a `from` after `to`.
 */
export function readWindow(
  input: { readonly period?: Period | undefined; readonly from?: number | undefined; readonly to?: number | undefined },
  now: number,
  otherwise: Period,
): Window {
  const { from, to } = input
  if (input.period !== undefined && (from !== undefined || to !== undefined)) {
    throw new AppError('invalid_request', { message: 'Send a period, or from and to.', param: 'period' })
  }
  if (from !== undefined || to !== undefined) {
    const window = { from: from ?? 0, to: to ?? now + NEXT_MS }
    if (window.from < window.to) return window
    throw new AppError('invalid_request', { message: 'from must be before to.', param: 'from' })
  }
  return { from: sinceOf(input.period ?? otherwise, now), to: now + NEXT_MS }
}

/**
 * The window one length before another one. A period has its whole length, so that the running hour or day compares
 * with the same part of an earlier one. Throws `invalid_request` where no such window exists.
 */
export function windowBefore({ from, to }: Window, period: Period | undefined): Window {
  const length = (period === undefined ? undefined : PERIODS[period]) ?? to - from
  if (from - length >= 0) return { from: from - length, to: to - length }
  throw new AppError('invalid_request', {
    message: 'No period of this length is before this one. Send a later from, or a shorter period.',
    param: 'isPeriodBefore',
  })
}

function sinceOf(period: Period, now: number): number {
  const span = PERIODS[period]
  return span === null ? 0 : Math.max(0, periodStart(now, span))
}
