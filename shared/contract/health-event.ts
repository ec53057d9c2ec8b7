import { z } from 'zod'

/** What the one classifier of upstream failures calls them; each has its own effect on health and failover. */
export const ERROR_CLASSES = [
  'unreachable',
  'timeout',
  'rate_limited',
  'overloaded',
  'credential_rejected',
  'not_found',
  'server_error',
  'bad_response',
  'bad_request',
  'context_length',
  'cut',
  'bad_usage',
] as const
export type ErrorClass = (typeof ERROR_CLASSES)[number]

/** A change in an offer's health, told to the seller; its loss is acceptable. */
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
  /** One line without a secret or a body. */
  detail: z.string().max(300),
  /** `flagged` is for a person to look at: the offer goes on selling. */
  action: z.enum(['counted', 'backed_off', 'recovered', 'flagged']),
  backedOffUntil: z.number().int().nullable(),
})
export type HealthEvent = z.infer<typeof HealthEventSchema>

/** An offer's shared health in Redis: what every data-plane process starts from. */
export const HealthRecordSchema = z.object({
  consecutiveFailures: z.number().int().nonnegative(),
  /** How often in a row it was backed off: the factor of the next back-off. */
  ejections: z.number().int().nonnegative(),
  backedOffUntil: z.number().int().nullable(),
  errorClass: z.enum(ERROR_CLASSES).nullable(),
})
export type HealthRecord = z.infer<typeof HealthRecordSchema>
