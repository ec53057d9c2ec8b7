import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ShownSetting } from '#shared/shown-settings.ts'
import { ShownSettingSchema } from '#shared/shown-settings.ts'
import { SETTING_NOTES, SETTING_SUBJECTS, SETTING_UNITS } from './setting-notes.ts'

/** A setting of a process, and the plane that it belongs to. */
export const PlaneSettingSchema = ShownSettingSchema.extend({
  plane: z.enum(['control', 'data']),
  /** The data-plane process; null for the control plane. */
  node: z.string().nullable(),
  fallback: z.string().nullable().describe("The program's default; null without one, and for a secret."),
  subject: z.enum(SETTING_SUBJECTS).describe('The subject of the setting.'),
  unit: z.enum(SETTING_UNITS).nullable().describe('The unit of the value; null for a text and for a plain number.'),
  meaning: z.string().describe('The effect of the setting, in one or two sentences.'),
}).meta({
  id: 'PlaneSetting',
  description: 'A setting of a process. The value of a secret is never shown, nor its length.',
})
export type PlaneSetting = z.infer<typeof PlaneSettingSchema>

/** Lists the settings that the control plane and the data planes run with. Secrets are masked. */
export const listPlaneSettings = defineOperation({
  name: 'settings.list',
  summary: 'List the settings that both planes run with',
  about: 'Each setting has its meaning, its unit, its value and its default. A secret shows only whether it is set.',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(PlaneSettingSchema).readonly(),
  run: async (ctx): Promise<readonly PlaneSetting[]> => {
    const nodes = await ctx.desk.listNodes()
    return [
      ...ctx.settings.shown.map((setting) => ({ ...noted(setting), plane: 'control' as const, node: null })),
      ...nodes.flatMap(({ node, report }) =>
        (report?.settings ?? []).map((setting) => ({ ...noted(setting), plane: 'data' as const, node })),
      ),
    ]
  },
})

/** A setting with its note. A process of another version may have a setting that this version has no note on. */
function noted(setting: ShownSetting): Omit<PlaneSetting, 'plane' | 'node'> {
  const { subject, unit, meaning } = SETTING_NOTES.get(setting.name) ?? { subject: 'process', unit: null, meaning: '' }
  return { ...setting, subject, unit, meaning }
}
