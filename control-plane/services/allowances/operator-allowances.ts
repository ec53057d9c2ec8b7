import { z } from 'zod'
import { listOwingLines } from '#control-plane/db/allowances.ts'
import { LINE_STATES } from '#control-plane/db/tables/allowances.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { wholeNumber } from '#shared/texts.ts'
import { owedOf } from './weigh-line.ts'

/** An account whose wallet owes money, or whose line is stopped. */
export const OwingLineSchema = z.object({
  account: z.string(),
  wallet: z.string(),
  /** The ledger account of the advance. `ledger.adjust` credits it to write a debt off. */
  advance: z.string(),
  status: z.enum(LINE_STATES),
  /** The reason of the stop, as a code. */
  reason: z.string().nullable(),
  owedMicro: MicroDigits,
  owedSince: UnixMs.nullable(),
  advancedMicro: MicroDigits,
  /** The amount of draws under way. */
  drawingMicro: MicroDigits,
  balanceMicro: MicroDigits.nullable(),
  allowanceMicro: MicroDigits.nullable(),
  failures: Count,
  retryAt: UnixMs.nullable(),
})
export type OwingLine = z.infer<typeof OwingLineSchema>

/** Lists accounts whose wallets owe money and accounts whose line is stopped, the largest debt first. */
export const listOwing = defineOperation({
  name: 'allowance.owing',
  summary: 'List accounts with debts of their wallets, the largest first',
  about: 'The list includes stopped accounts.',
  access: 'operator',
  input: z.strictObject({ limit: wholeNumber(1, 500).prefault(100) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(OwingLineSchema).readonly(),
  run: async (ctx, _actor, { limit }): Promise<readonly OwingLine[]> =>
    (await listOwingLines(ctx.db, limit)).map((line) => ({
      account: line.account,
      wallet: line.wallet,
      advance: line.advance,
      status: line.state,
      reason: line.reason,
      owedMicro: owedOf(line).toString(),
      owedSince: line.owedSince?.getTime() ?? null,
      advancedMicro: line.advanced.toString(),
      drawingMicro: line.drawing.toString(),
      balanceMicro: line.balance?.toString() ?? null,
      allowanceMicro: line.allowance?.toString() ?? null,
      failures: line.failures,
      retryAt: line.retryAt?.getTime() ?? null,
    })),
})
