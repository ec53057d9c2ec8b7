import { z } from 'zod'
import { SETTLEMENT_TYPES } from './rails.ts'
import { SERVED_BY } from './usage-event.ts'

/**
 * The states of a call's payment. A charge to prepaid credit ends at `accrued`; one that a chain carries ends at
 * `settled`.
 */
export const SETTLEMENT_STATUSES = ['pending', 'accrued', 'settled', 'failed', 'free'] as const
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number]

/**
 * The answer to `GET /v1/requests/{id}` with the wire's names. The data plane makes it from the usage event in the
 * hold, the control plane from its rows.
 */
export const LookupRecordSchema = z
  .object({
    request_id: z.string(),
    model: z.string(),
    provider: z.string().nullable(),
    /** Null while the call runs, and for a call that no provider served. */
    served_by: z.enum(SERVED_BY).nullable(),
    settlement_status: z.enum(SETTLEMENT_STATUSES),
    settlement_type: z.enum(SETTLEMENT_TYPES),
    settlement_error: z.string().nullable(),
    /** The instant at which the charge was booked, in ISO 8601; null before, and for a call without a charge. */
    confirmed_at: z.iso.datetime().nullable(),
    buyer_cost_micro: z.number().int().nonnegative(),
    list_cost_micro: z.number().int().nonnegative(),
    tx_hash: z.string().nullable(),
    attempts: z.array(
      z.object({
        provider: z.string(),
        status: z.number().int(),
        ms: z.number().int(),
        connect_ms: z
          .number()
          .int()
          .nullable()
          .default(null)
          .describe('The part of `ms` until a new connection was ready; null when an open connection was used.'),
        resent: z
          .boolean()
          .default(false)
          .describe('True when the provider closed an idle connection as the request left, so it was sent again.'),
      }),
    ),
    created_at: z.number().int(),
    streamed: z.boolean(),
    cancelled: z.boolean(),
    finish_reason: z.string().nullable(),
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    cache_read_tokens: z.number().int(),
    cache_write_tokens: z.number().int(),
    reasoning_tokens: z.number().int(),
    /** Of the tokens, those of images. */
    image_input_tokens: z.number().int(),
    image_output_tokens: z.number().int(),
    /** Images and seconds of every resolution, and the part of them that was charged as a larger one. */
    images: z.number().int(),
    images_2k: z.number().int(),
    images_4k: z.number().int(),
    megapixels: z.number(),
    seconds: z.number(),
    seconds_1080p: z.number(),
    seconds_4k: z.number(),
    characters: z.number().int(),
    /** Web searches that the provider billed. */
    searches: z.number().int(),
    /** The conditions of the applied prices: `prompt_tokens>=272001`. Empty for the list's unconditional prices. */
    price_conditions: z.array(z.string()),
    ttft_ms: z.number().int().nullable(),
    duration_ms: z.number().int(),
    overhead_ms: z
      .number()
      .int()
      .nonnegative()
      .nullable()
      .default(null)
      .describe('The part of `duration_ms` outside of providers; null while the call runs.'),
    /** The reasons of the routing: offers in the order of the attempts, each with its highest possible cost. */
    routing: z
      .object({
        offers: z.array(z.object({ offer: z.string(), provider: z.string(), estimate_micro: z.number().int() })),
        excluded: z.array(z.object({ offer: z.string(), reason: z.string() })),
        /** The offer that was put first because it had the conversation cached. */
        affinity: z.object({ offer: z.string(), saving_micro: z.number().int() }).nullable(),
      })
      .nullable(),
  })
  .meta({
    id: 'RequestRecord',
    description: 'A call: its model, its attempts, its cost and the state of its payment.',
  })
export type LookupRecord = z.infer<typeof LookupRecordSchema>
