import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { NodeReport } from '#shared/contract/node-report.ts'
import { NodeReportSchema } from '#shared/contract/node-report.ts'

/** A data-plane process. `isAlive` is true when it signalled within the last seconds. */
export const NodeViewSchema = z.object({
  node: z.string(),
  /** The last signal; null for a process that signed off with nothing to settle. */
  lastSeenAt: UnixMs.nullable(),
  /** True when its membership is on record. Only a member admits paid calls. */
  isMember: z.boolean(),
  report: NodeReportSchema.omit({ settings: true }).nullable(),
  isAlive: z.boolean(),
})
export type NodeView = z.infer<typeof NodeViewSchema>

/** Silence after which a process counts as dead. A process looks at the gate every second. */
const SILENT_AFTER_MS = 10_000

/** Lists the data-plane processes that the gate knows. */
export const listNodes = defineOperation({
  name: 'node.list',
  summary: 'List the data-plane processes that the gate knows',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(NodeViewSchema).readonly(),
  run: async (ctx): Promise<readonly NodeView[]> => {
    const now = ctx.clock.now()
    return (await ctx.desk.listNodes()).map(({ report, ...node }) => ({
      ...node,
      report: report && withoutSettings(report),
      isAlive: now - Math.max(node.lastSeenAt ?? 0, report?.reportedAt ?? 0) < SILENT_AFTER_MS,
    }))
  },
})

/** The settings are many lines, and `settings.list` shows them. */
function withoutSettings({ settings: _settings, ...report }: NodeReport): NonNullable<NodeView['report']> {
  return report
}
