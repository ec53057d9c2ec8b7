import { z } from 'zod'
import type { MicroUsd } from '#shared/money.ts'
import { dollarsToMicroUsd, ZERO } from '#shared/money.ts'
import { oneLine, readDigits, wholeNumber } from '#shared/texts.ts'

/** Input fields that many operations share. */

const MAX_LABEL_CHARS = 200

/** A name for people. */
export const Label = oneLine(MAX_LABEL_CHARS).trim().min(1)

/** A wallet address, read in lower case. */
export const Wallet = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'a wallet address must be 0x and 40 hexadecimal digits')
  .transform((text) => text.toLowerCase())

/** The hash of a transaction, read in lower case. */
export const TransactionHash = oneLine(66)
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .toLowerCase()

/** A decimal as people write it, without a sign, spaces, leading zeros or an exponent. */
const PLAIN_DECIMAL = /^(?:0|[1-9]\d*)(?:\.\d+)?$/

/** Contracts on chain 8453 that can never spend tokens they receive: USDC, Permit2, and x402's proxies. */
const CONTRACTS: ReadonlySet<string> = new Set([
  '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  '0x000000000022d473030f116ddee9f6b43ac78ba3',
  '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002',
  '0x402085c248eea27d92e8b30b2c58ed07f9e20001',
])

/** A wallet that can be paid. Money sent to the zero address or to one of these contracts is lost. */
export const PayoutWallet = Wallet.refine(
  (wallet) => !/^0x0{40}$/.test(wallet),
  'the zero address has no owner',
).refine((wallet) => !CONTRACTS.has(wallet), 'the address is a contract that cannot spend what it receives')

/** An amount above zero in US dollars with at most six decimals. It is parsed into micro-USD. */
export const Dollars = z.number().transform(readDollars)
/** The same amount, as a number or as plain digits. */
export const DollarText = z.union([z.number(), z.string().max(40).regex(PLAIN_DECIMAL)]).transform(readDollars)

function readDollars(dollars: number | string, context: z.RefinementCtx): MicroUsd {
  try {
    const amount = dollarsToMicroUsd(dollars)
    if (amount > ZERO) return amount
  } catch {
    // The issue below also reports this input.
  }
  context.addIssue({ code: 'custom', message: 'use an amount above zero with at most 6 decimals' })
  return z.NEVER
}

const MAX_INSTANT = Date.UTC(2200, 0, 1)
const NO_INSTANT = 'an instant must be Unix milliseconds, ISO 8601 with its zone, or a plain date'

/**
 * An instant, parsed into Unix milliseconds. It is given as Unix milliseconds (digits in a query string), as ISO 8601
 * with an offset, or as a plain date, which means 00:00 UTC.
 */
export const Instant = z
  .preprocess(readDigits, z.union([z.number().int(), z.iso.datetime({ offset: true }), z.iso.date()], NO_INSTANT))
  .transform((value) => (typeof value === 'number' ? value : Date.parse(value)))
  .refine((at) => at >= 0 && at < MAX_INSTANT, NO_INSTANT)

const NO_DAY = 'a day must be written as 2026-11-21, from 1970 to 2199'

/** A UTC day as text. The database has no year 0, and some days after the year 9999 have no text. */
export const Day = z.iso.date(NO_DAY).refine((day) => day >= '1970' && day < '2200', NO_DAY)

/**
 * A model's name in any spelling. Some protocols have it in a path, where a dot segment would lead to another place.
 */
export const ModelName = z
  .string()
  .min(1)
  .max(160)
  .regex(/^[\x21-\x7e]+$/, 'model names must have letters, digits and symbols only, no spaces')
  .refine(
    (name) => name.split(/[/?#]/).every((part) => part !== '.' && part !== '..'),
    'a model name must have no dot segment',
  )

/** Number of items in a page. A query string gives it as text. */
export const PageSize = wholeNumber(1, 100).prefault(25)

/** A unique name of a ledger operation: a ticket, an invoice, or a payment provider's event. */
export const Ticket = z.string().regex(/^[\w.:-]{1,100}$/, 'a ticket must be 1 to 100 letters, digits or . : - _')

/** True unless a period ends before it begins. For `refine`, with {@link SINCE_FIRST}. */
export const isInOrder = ({
  since,
  until,
}: {
  readonly since?: number | undefined
  readonly until?: number | undefined
}) => since === undefined || until === undefined || since <= until
export const SINCE_FIRST = { message: 'since must not be after until', path: ['since'] }
