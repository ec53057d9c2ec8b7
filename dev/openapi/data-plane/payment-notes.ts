import { z } from 'zod'
import { Count } from './route.ts'

const Names = z.array(z.string())
const Open = z.boolean().describe('False while no wallet can pay in this way.')
/** Notes for agents on paying for single calls. */
export const PaymentNotes = z
  .object({
    name: z.string(),
    version: z.string(),
    description: z.string(),
    x402: z.object({
      version: Count,
      is_open: Open,
      schemes: Names,
      preferred_scheme: z.string().nullable(),
      network: z.string().nullable(),
      chain_id: Count.nullable(),
      asset: z.string().nullable(),
      asset_symbol: z.string(),
      asset_decimals: Count,
      pay_to: z.string().nullable(),
      facilitator: z.string().nullable(),
      headers: z.object({ demand: z.string(), payment: z.string(), receipt: z.string() }),
    }),
    mpp: z.object({ method: z.string(), intent: z.string(), is_open: Open }),
    inference: z.object({
      endpoints: z.array(
        z.object({
          method: z.string(),
          path: z.string(),
          url: z.string(),
          protocols: z.array(z.enum(['x402', 'mpp'])),
          schemes: z.array(z.enum(['upto', 'exact'])).describe('The schemes of x402 that it takes.'),
        }),
      ),
      models_url: z.string(),
      prices_url: z.string(),
      pricing: z.object({ mode: z.string(), currency: z.string(), min_usd: z.number(), max_usd: z.number() }),
      flow: Names,
    }),
    forwarded: z.object({
      endpoints: z.array(
        z.object({
          method: z.string(),
          path: z.string(),
          url: z.string(),
          example: z.string().describe('A URL that works without changes.'),
          protocols: z.array(z.enum(['x402'])),
        }),
      ),
      resources: z.string(),
      capabilities_url: z.string(),
    }),
    discovery: z.object({ well_known: z.string(), openapi: z.string(), llms_txt: z.string(), bazaar: z.boolean() }),
  })
  .meta({
    id: 'PaymentNotes',
    description: 'How wallets pay here: schemes, network, asset, recipient, headers and prices.',
  })
/** Notes for crawlers of x402. */
export const PayableResources = z
  .object({
    version: Count,
    x402Version: Count,
    resources: Names,
    items: z.array(
      z.object({ resource: z.string(), method: z.string(), accepts: z.array(z.record(z.string(), z.unknown())) }),
    ),
  })
  .meta({ id: 'PayableResources', description: 'The paid operations of this market, as x402 lists them.' })
