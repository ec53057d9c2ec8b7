import { z } from 'zod'

/** The description of a path of the data plane. Names are in the wire's spelling. */
export type DataRoute = {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** With variables in braces. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly envelope: 'v1' | 'messages'
  readonly access: 'public' | 'buyer'
  /** True for a sold call. Its answer has its route and its cost. */
  readonly isPaid?: boolean
  /** True for the submit of a long job, which wallets pay for by x402's `exact` or by MPP. */
  readonly takesExact?: boolean
  /** True for a call whose request and answer are a provider's own. */
  readonly isForwarded?: boolean
  /** True when the path may contain a whole number of percent, the floor of the discount. */
  readonly takesFloor?: boolean
  /** A floor that the example's model meets, where it differs from the usual one. */
  readonly floorExample?: number
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly isForm?: boolean
  /** True when the body may be a form as well as JSON. */
  readonly isFormToo?: boolean
  /** The status of a successful answer. 200 by default. */
  readonly status?: 200 | 202 | 302
  /** The bodies of a successful answer by media type. */
  readonly answers: Readonly<Record<string, z.ZodType>>
  /** Bodies, or queries of a read, by name. A test sends them unchanged. */
  readonly examples?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** The path's variables in the examples, where a test does not have them from an earlier answer. */
  readonly variables?: Readonly<Record<string, string>>
  readonly refusals: readonly number[]
}

export const READ_REFUSALS = [400, 404, 405, 429, 500, 503]
export const KEY_REFUSALS = [400, 401, 403, 404, 405, 413, 415, 429, 500, 503]
export const CALL_REFUSALS = [400, 401, 402, 403, 404, 405, 413, 415, 429, 500, 502, 503, 504]

export const Count = z.number().int()
const Names = z.array(z.string()).nullish()

export const Cost = z.object({
  cost: z.number().optional().describe('The price for the buyer, in USD.'),
  buyer_cost_micro: Count.optional().describe('The booked cost in whole micro-USD.'),
  payment: z
    .object({
      type: z.enum(['x402', 'mpp']),
      status: z.enum(['settled', 'pending', 'failed']).describe('The state of the transfer at the end of the answer.'),
      transaction: z.string().nullable().describe('The transaction hash. Null until it is sent.'),
      network: z.string(),
      payer: z.string().describe('The wallet that pays.'),
    })
    .optional()
    .describe('The payment of a call that a wallet pays for.'),
  adapted_params: z
    .array(z.string())
    .optional()
    .describe('Parameters that were left out or changed for the provider that answered; absent when none was.'),
  cost_details: z
    .object({
      upstream_inference_cost: z.number(),
      upstream_inference_prompt_cost: z.number().optional(),
      upstream_inference_completions_cost: z.number().optional(),
      upstream_inference_input_cost: z.number().optional(),
      upstream_inference_output_cost: z.number().optional(),
    })
    .optional()
    .describe('The list price of the same usage, in USD, with the parts of input and output.'),
})

/** Routing members of a sold call's body, beside those of its protocol. */
export const ROUTING = {
  provider: z
    .union([z.string(), z.looseObject({ only: Names, ignore: Names, order: Names })])
    .nullish()
    .describe('The only provider, or lists of them by id or host: only, ignore, order.'),
  providers_blocked: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe('Providers that are not used.'),
  provider_order: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe('Providers to be tried first.'),
  allow_untrusted: z.boolean().nullish().describe('True also uses offers of providers that are not trusted.'),
  min_discount_pct: Count.min(0).max(100).nullish().describe('No offer under this discount is used.'),
  session_id: z.string().nullish().describe('Calls of one conversation, which may then meet a warm cache.'),
}
export const STREAM = z.string().describe('Server-sent events; the last with content carries usage and cost.')
