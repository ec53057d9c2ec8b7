import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { ShownSettingSchema } from '#shared/shown-settings.ts'

/** A setting of a process, and the plane that it belongs to. */
export const PlaneSettingSchema = ShownSettingSchema.extend({
  plane: z.enum(['control', 'data']),
  /** The data-plane process; null for the control plane. */
  node: z.string().nullable(),
}).meta({
  id: 'PlaneSetting',
  description: 'A setting of a process. The value of a secret is never shown, nor its length.',
})
export type PlaneSetting = z.infer<typeof PlaneSettingSchema>

/** Lists the settings that the control plane and the data planes run with. Secrets are masked. */
export const listPlaneSettings = defineOperation({
  name: 'settings.list',
  summary: 'List the settings that both planes run with',
  about: 'Each setting has its value, or a mark that its default counts. A secret shows only whether it is set.',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(PlaneSettingSchema).readonly(),
  run: async (ctx): Promise<readonly PlaneSetting[]> => {
    const nodes = await ctx.desk.listNodes()
    return [
      ...ctx.settings.shown.map((setting) => ({ ...setting, plane: 'control' as const, node: null })),
      ...nodes.flatMap(({ node, report }) =>
        (report?.settings ?? []).map((setting) => ({ ...setting, plane: 'data' as const, node })),
      ),
    ]
  },
})
