import { z } from 'zod'

/** The classifier's names for upstream failures. Each has its own effect on health and failover. */
export const ERROR_CLASSES = [
  'unreachable',
  'timeout',
  'rate_limited',
  'overloaded',
  'credential_rejected',
  'account_rejected',
  'quota_exhausted',
  'region_rejected',
  'access_rejected',
  'not_found',
  'server_error',
  'bad_response',
  'bad_request',
  'context_length',
  'too_large',
  'wrong_protocol',
  'cut',
  'bad_usage',
] as const
export type ErrorClass = (typeof ERROR_CLASSES)[number]

/** A change in an offer's health, for its seller. Losing one is acceptable. */
export const HealthEventSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('hlt_'),
  at: z.number().int(),
  node: z.string(),
  offer: z.string(),
  model: z.string(),
  rid: z.string().nullable(),
  errorClass: z.enum(ERROR_CLASSES).nullable(),
  statusCode: z.number().int().nullable(),
  /** A line without secrets and without a body. */
  detail: z.string().max(300),
  /** `flagged` asks a person to look. The offer stays on sale. */
  action: z.enum(['counted', 'backed_off', 'recovered', 'flagged']),
  backedOffUntil: z.number().int().nullable(),
})
export type HealthEvent = z.infer<typeof HealthEventSchema>

/** An offer's shared health in Redis. Every data-plane process starts from it. */
export const HealthRecordSchema = z.object({
  consecutiveFailures: z.number().int().nonnegative(),
  /** The number of back-offs in a row. The next back-off is multiplied by it. */
  ejections: z.number().int().nonnegative(),
  backedOffUntil: z.number().int().nullable(),
  errorClass: z.enum(ERROR_CLASSES).nullable(),
})
export type HealthRecord = z.infer<typeof HealthRecordSchema>
