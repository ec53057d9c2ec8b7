import { z } from 'zod'
import { keptBps, parseMicroUsd, picoUsd } from '#shared/money.ts'

/** An amount in the contract: plain digits of micro-USD, read as MicroUsd. */
export const MicroUsdText = z
  .string()
  .regex(/^(0|[1-9]\d{0,13})$/)
  .transform(parseMicroUsd)

/** A cost in the contract before rounding: plain digits of pico-USD below 2^53, read as PicoUsd. */
export const PicoUsdText = z
  .string()
  .regex(/^(0|[1-9]\d{0,15})$/)
  .transform((text) => picoUsd(BigInt(text)))

/** A kept share in the contract: a whole number of basis points, read as KeptBps. */
export const KeptBpsNumber = z.number().int().min(0).max(10_000).transform(keptBps)
