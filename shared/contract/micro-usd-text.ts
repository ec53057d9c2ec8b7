import { z } from 'zod'
import { keptBps, parseMicroUsd } from '#shared/money.ts'

/** An amount in the contract: plain digits of micro-USD, read as MicroUsd. */
export const MicroUsdText = z
  .string()
  .regex(/^(0|[1-9]\d{0,13})$/)
  .transform(parseMicroUsd)

/** A kept share in the contract: a whole number of basis points, read as KeptBps. */
export const KeptBpsNumber = z.number().int().min(0).max(10_000).transform(keptBps)
