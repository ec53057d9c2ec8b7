import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'

/** Ways to pay that the market has now. */
const RAILS = ['credit'] as const

/** A way to pay: `up`, `switched_off` by operators, or `down` while nothing can admit paid calls. */
export const RailStateSchema = z.object({
  rail: z.enum(RAILS),
  state: z.enum(['up', 'switched_off', 'down']),
})
export type RailState = z.infer<typeof RailStateSchema>

/** The state of every rail now; for everybody. */
export const listRails = defineOperation({
  name: 'market.rails',
  access: 'public',
  input: z.object({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(RailStateSchema).readonly(),
  run: async (ctx): Promise<readonly RailState[]> => {
    const state = await stateOfCredit(ctx)
    return RAILS.map((rail) => ({ rail, state }))
  },
})

async function stateOfCredit({ controls, gate }: Ctx): Promise<RailState['state']> {
  if (!(await controls.isOn('paid_calls'))) return 'switched_off'
  return (await gate.isOpen()) ? 'up' : 'down'
}
