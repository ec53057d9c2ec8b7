import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'

/** The market's present ways to pay. */
const RAILS = ['credit'] as const

/** A way to pay: `up`, `switched_off` by operators, or `down` while no paid call can be admitted. */
export const RailStateSchema = z.object({
  rail: z.enum(RAILS),
  state: z.enum(['up', 'switched_off', 'down']),
})
export type RailState = z.infer<typeof RailStateSchema>

/** Lists the present state of every rail. */
export const listRails = defineOperation({
  name: 'market.rails',
  access: 'public',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(RailStateSchema).readonly(),
  run: async (ctx): Promise<readonly RailState[]> => {
    const state = await stateOfCredit(ctx)
    return RAILS.map((rail) => ({ rail, state }))
  },
})

async function stateOfCredit({ controls, gate }: Pick<Ctx, 'gate' | 'controls'>): Promise<RailState['state']> {
  if (!(await controls.isOn('paid_calls'))) return 'switched_off'
  return (await gate.isOpen()) ? 'up' : 'down'
}
