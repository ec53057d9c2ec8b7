import { z } from 'zod'

/** How often a data-plane process says how it is. */
export const NODE_REPORT_EVERY_MS = 5_000
/** How long the last word of a process that is gone stays readable. */
export const NODE_REPORT_KEPT_MS = 3_600_000

/** What a data-plane process says of itself. */
export const NodeReportSchema = z.object({
  /** The process by the name that it has at the gate. */
  node: z.string(),
  /** Version of the program. */
  version: z.string(),
  /** Unix milliseconds by the clock of the process. */
  startedAt: z.number().int(),
  reportedAt: z.number().int(),
  /** The money epoch in which it admits paid calls; null while it admits none. */
  openEpoch: z.number().int().nullable(),
  /** Models it knows and offers it could route to. */
  models: z.number().int(),
  offers: z.number().int(),
})
export type NodeReport = z.infer<typeof NodeReportSchema>
