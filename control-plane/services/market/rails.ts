import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { withPayments } from '#control-plane/services/payments/payment-ctx.ts'
import { readPaymentTerms } from '#control-plane/services/payments/payment-terms.ts'
import { listSwitchedOff } from '#control-plane/services/payments/switched-rails.ts'
import { CHAIN_RAILS } from '#shared/contract/chain-payments.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'

/** A way to pay: `up`, `switched_off` by operators, or `down` while no paid call can be admitted. */
export const RailStateSchema = z.object({
  rail: z.enum([CREDIT_RAIL, ...CHAIN_RAILS]),
  state: z.enum(['up', 'switched_off', 'down']),
})
export type RailState = z.infer<typeof RailStateSchema>

/** Lists the present state of every rail. Rails of wallets are left out where the market has no chain. */
export const listRails = defineOperation({
  name: 'market.rails',
  summary: 'List the ways to pay with their state',
  access: 'public',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(RailStateSchema).readonly(),
  run: async (ctx): Promise<readonly RailState[]> => {
    const isPaid = await ctx.controls.isOn('paid_calls')
    const credit = { rail: CREDIT_RAIL, state: isPaid ? await stateOfCredit(ctx) : 'switched_off' } as const
    const chain = await statesOfChain(ctx)
    return [credit, ...chain.map(({ rail, state }) => ({ rail, state: isPaid ? state : 'switched_off' }) as const)]
  },
})

async function stateOfCredit({ gate }: Pick<Ctx, 'gate'>): Promise<RailState['state']> {
  return (await gate.isOpen()) ? 'up' : 'down'
}

async function statesOfChain(
  ctx: Pick<Ctx, 'ledger' | 'gate' | 'clock' | 'ids' | 'log' | 'payments' | 'controls'>,
): Promise<RailState[]> {
  const paying = withPayments(ctx)
  if (paying === undefined) return []
  const [terms, off] = await Promise.all([readPaymentTerms(paying), listSwitchedOff(ctx)])
  return CHAIN_RAILS.map((rail) => {
    // Only the facilitator that the terms name may take an upto payment.
    const isUp = terms.isOpen && (rail !== 'x402-upto' || terms.facilitator !== null)
    return { rail, state: off.includes(rail) ? 'switched_off' : isUp ? 'up' : 'down' }
  })
}
