import { z } from 'zod'
import { findNewestPermit, listDraws } from '#control-plane/db/allowance-draws.ts'
import type { AllowanceLine } from '#control-plane/db/allowances.ts'
import { findLine } from '#control-plane/db/allowances.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { DRAW_STATES, LINE_STATES, PERMIT_STATES } from '#control-plane/db/tables/allowances.ts'
import type { AllowanceSettings } from '#control-plane/operation/ctx.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { SECOND } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Taker } from './allowance-ctx.ts'
import { owedOf } from './weigh-line.ts'

/** Most draws that the account's view lists. */
const SHOWN_DRAWS = 10

/**
 * A draw in the account's view. `planned`: the review is due. `approved`: the transaction is due or under way.
 * `settled`: the amount is in the balance. `failed`: the draw moved no money.
 */
export const DrawViewSchema = z
  .object({
    id: z.string(),
    status: z.enum(DRAW_STATES),
    reason: z.string().nullable().describe('The reason why the draw moved no money, as a code.'),
    amountUsdc: MicroDigits,
    txHash: z.string().nullable(),
    block: Count.nullable(),
    createdAt: UnixMs,
  })
  .meta({ id: 'AllowanceDraw', description: 'A transfer from a wallet’s allowance to the treasury.' })

export const PermitViewSchema = z
  .object({
    id: z.string(),
    status: z.enum(PERMIT_STATES).describe('Signed: the permit is on its way to the chain.'),
    valueUsdc: MicroDigits,
    validUntil: UnixMs,
  })
  .meta({
    id: 'AllowancePermit',
    description: 'The message of EIP-2612 that a wallet signs to give the market an allowance.',
  })

/** The line of an account that pays from its wallet. */
export const AllowanceViewSchema = z
  .object({
    status: z
      .enum(['none', ...LINE_STATES])
      .describe(
        'Open: the market advances credit. Stopped: the wallet cannot pay its debt. Closed: the owner stopped payment from the wallet.',
      ),
    reason: z.string().nullable().describe('The reason of the stop, as a code.'),
    wallet: z.string(),
    spender: z.string().describe('The address that draws the tokens, which the wallet approves.'),
    chainId: Count,
    asset: z.string().describe('The token.'),
    balanceUsdc: MicroDigits.nullable().describe('The tokens of the wallet, as last read from the chain.'),
    allowanceUsdc: MicroDigits.nullable().describe('The allowance of the spender, as last read from the chain.'),
    readAt: UnixMs.nullable(),
    advancedUsdc: MicroDigits.describe('Advanced credit that the market has not taken back, spent or not.'),
    owedUsdc: MicroDigits.describe('The spent part of the advanced credit. The market draws it from the wallet.'),
    limitUsdc: MicroDigits.describe('The most credit that the market advances.'),
    batchUsdc: MicroDigits.describe('The market draws a debt of this amount or more at once.'),
    batchSeconds: Count.describe('The market draws a smaller debt after this time, in seconds.'),
    permit: PermitViewSchema.nullable().describe('The newest permit that you submitted.'),
    draws: z.array(DrawViewSchema).readonly().describe('Draws from the wallet, newest first.'),
    typedData: z
      .string()
      .nullable()
      .describe('The permit that the wallet signs: domain, types and message of EIP-712, as JSON.'),
  })
  .meta({
    id: 'Allowance',
    description: 'The allowance of a wallet: the amount that the market may draw, and its draws.',
  })
export type AllowanceView = z.infer<typeof AllowanceViewSchema>

type Shown = {
  readonly moves: Taker
  readonly settings: { readonly allowances: AllowanceSettings }
  readonly typedData?: string | null
}

/** Reads how an account pays from its wallet. */
export async function viewAllowance(
  db: Database | Trx,
  { account, wallet }: { readonly account: AccountId; readonly wallet: string },
  { moves, settings, typedData = null }: Shown,
): Promise<AllowanceView> {
  const line = await findLine(db, account)
  const permit = await findNewestPermit(db, account)
  const draws = await listDraws(db, account, SHOWN_DRAWS)
  const { lineMicro, batchMicro, batchMs } = settings.allowances
  return {
    ...standingOf(line),
    wallet,
    spender: moves.treasury,
    chainId: moves.chainId,
    asset: moves.asset,
    limitUsdc: lineMicro.toString(),
    batchUsdc: batchMicro.toString(),
    batchSeconds: batchMs / SECOND,
    permit:
      permit === undefined
        ? null
        : {
            id: permit.id,
            status: permit.state,
            valueUsdc: permit.value.toString(),
            validUntil: permit.deadline.getTime(),
          },
    draws: draws.map(({ id, state, reason, amount, transaction, block, plannedAt }) => ({
      id,
      status: state,
      reason,
      amountUsdc: amount.toString(),
      txHash: transaction,
      block: block === null ? null : Number(block),
      createdAt: plannedAt.getTime(),
    })),
    typedData,
  }
}

function standingOf(line: AllowanceLine | undefined) {
  return {
    status: line?.state ?? ('none' as const),
    reason: line?.reason ?? null,
    ...walletOf(line),
    readAt: line?.readAt?.getTime() ?? null,
    advancedUsdc: (line?.advanced ?? 0n).toString(),
    owedUsdc: (line === undefined ? 0n : owedOf(line)).toString(),
  }
}

/** The chain's last reading of a line's wallet. Undefined for a closed line. */
export function walletOf(line: AllowanceLine | undefined) {
  const allowanceLine = line?.state === 'closed' ? undefined : line
  return {
    balanceUsdc: allowanceLine?.balance?.toString() ?? null,
    allowanceUsdc: allowanceLine?.allowance?.toString() ?? null,
  }
}
