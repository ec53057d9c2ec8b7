import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { NodeReportSchema } from '#shared/contract/node-report.ts'

/** A data-plane process. `isAlive` is true when it signalled within the last seconds. */
export const NodeViewSchema = z.object({
  node: z.string(),
  /** The last signal; null for a process that signed off with nothing to settle. */
  lastSeenAt: UnixMs.nullable(),
  /** True when its membership is on record. Only a member admits paid calls. */
  isMember: z.boolean(),
  report: NodeReportSchema.nullable(),
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
    return (await ctx.desk.listNodes()).map((node) => ({
      ...node,
      isAlive: now - Math.max(node.lastSeenAt ?? 0, node.report?.reportedAt ?? 0) < SILENT_AFTER_MS,
    }))
  },
})
