import { z } from 'zod'
import { ShownSettingSchema } from '#shared/shown-settings.ts'

/** The time between two reports of a data-plane process. */
export const NODE_REPORT_EVERY_MS = 5_000
/** The time for which the last report of a process stays readable after its end, in milliseconds. */
export const NODE_REPORT_KEPT_MS = 3_600_000

/** The load of a data-plane process and its limits. A process at a limit refuses calls as `overloaded`. */
const NodeLoadSchema = z.object({
  openCalls: z.number().int(),
  maxOpenCalls: z.number().int(),
  /** The delay of the event loop in the last second: 99th percentile, in milliseconds. */
  delayMs: z.number(),
  maxDelayMs: z.number(),
})
export type NodeLoad = z.infer<typeof NodeLoadSchema>

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
  /** Null for a process that does not serve yet, and for one of an older version. */
  load: NodeLoadSchema.nullable().default(null),
  /** The settings that it runs with, without the values of secrets. Empty for a process of an older version. */
  settings: z.array(ShownSettingSchema).readonly().default([]),
})
export type NodeReport = z.infer<typeof NodeReportSchema>
