import { z } from 'zod'

/** The time between two reports of a data-plane process. */
export const NODE_REPORT_EVERY_MS = 5_000
/** The time for which the last report of a process stays readable after its end, in milliseconds. */
export const NODE_REPORT_KEPT_MS = 3_600_000

/** A data-plane process's report of itself. */
export const NodeReportSchema = z.object({
  /** The name of the process at the gate. */
  node: z.string(),
  /** Version of the program. */
  version: z.string(),
  /** Unix milliseconds by the clock of the process. */
  startedAt: z.number().int(),
  reportedAt: z.number().int(),
  /** The money epoch in which it admits paid calls. Null while it admits none. */
  openEpoch: z.number().int().nullable(),
  /** The number of models that it knows, and of offers that it could route to. */
  models: z.number().int(),
  offers: z.number().int(),
})
export type NodeReport = z.infer<typeof NodeReportSchema>
