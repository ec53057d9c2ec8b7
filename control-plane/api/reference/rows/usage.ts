import { z } from 'zod'
import { pageSchema } from '#control-plane/services/page.ts'
import { MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { SETTLEMENT_STATUSES } from '#shared/contract/lookup.ts'
import { SERVED_BY } from '#shared/contract/usage-event.ts'
import type { Descriptions } from './described.ts'

const tag = 'Usage'

const Tokens = z.object({
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  cacheReadTokens: z.number().int(),
  cacheWriteTokens: z.number().int(),
  reasoningTokens: z.number().int(),
  audioInputTokens: z.number().int(),
  audioOutputTokens: z.number().int(),
})
const UsageItem = Tokens.extend({
  id: z.string(),
  requestId: z.string(),
  createdAt: UnixMs,
  model: z.string(),
  requestedModel: z.string(),
  provider: z.string().nullable(),
  servedBy: z.enum(SERVED_BY).nullable(),
  endpoint: z.string(),
  keyId: z.string().nullable(),
  outcome: z.string(),
  streamed: z.boolean(),
  settlementStatus: z.enum(SETTLEMENT_STATUSES),
  settlementError: z.string().nullable(),
  buyerCostMicro: WholeMicro,
  listCostMicro: WholeMicro,
  ttftMs: z.number().nullable(),
  durationMs: z.number(),
  txHash: z.string().nullable(),
}).meta({ id: 'UsageItem' })
const UsageBucket = Tokens.extend({
  requests: z.number().int(),
  failedRequests: z.number().int(),
  buyerCostMicro: WholeMicro,
  listCostMicro: WholeMicro,
  bucket: UnixMs,
  group: z.string().nullable(),
}).meta({ id: 'UsageBucket' })
const SavingsFigures = z.object({
  requests: z.number().int(),
  spentMicro: WholeMicro,
  listMicro: WholeMicro,
  savedMicro: WholeMicro,
  savedPct: z.number(),
})
const Savings = SavingsFigures.extend({
  period: z.enum(['24h', '7d', '30d', '90d', 'lifetime']),
  since: UnixMs,
  byModel: z.array(SavingsFigures.extend({ model: z.string() })),
}).meta({ id: 'Savings' })
const StatementLine = z
  .object({
    id: z.string(),
    kind: z.string(),
    createdAt: UnixMs,
    amountMicro: WholeMicro,
    balanceMicro: WholeMicro.describe('The balance after this line, in micro-USD.'),
    note: z.string().nullable(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    keyId: z.string().nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'StatementLine' })

const Cap = z
  .object({
    capUsdc: MicroDigits,
    usedUsdc: MicroDigits.describe('What calls have used, with what running ones hold, in micro-USD.'),
    leftUsdc: MicroDigits,
    isRefusing: z.boolean(),
    resetsAt: UnixMs,
    runsOutAt: UnixMs.nullable().describe('When it is used up at the pace of this period so far.'),
  })
  .meta({ id: 'Cap' })
const Caps = z
  .object({
    creditBalanceUsdc: MicroDigits,
    heldUsdc: MicroDigits,
    keys: z.array(
      z.object({
        keyId: z.string(),
        label: z.string(),
        daily: Cap.nullable(),
        monthly: Cap.nullable(),
        binds: z.enum(['daily', 'monthly', 'balance']),
      }),
    ),
  })
  .meta({ id: 'Caps' })
const Job = z
  .object({
    id: z.string(),
    model: z.string(),
    provider: z.string().nullable(),
    endpoint: z.string(),
    keyId: z.string().nullable(),
    state: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    submittedAt: UnixMs,
    deadlineAt: UnixMs,
    endedAt: UnixMs.nullable(),
    quoteMicro: MicroDigits,
    chargeMicro: MicroDigits.nullable(),
  })
  .meta({ id: 'Job' })

export const USAGE_DESCRIPTIONS: Descriptions = {
  'GET /v1/buyer/usage': {
    tag,
    summary: 'List calls with their cost',
    answer: pageSchema(UsageItem),
    example: { period: '24h', max_items: 10 },
  },
  'GET /v1/buyer/usage/buckets': {
    tag,
    summary: 'Sum usage over time',
    answer: z.object({ interval: z.enum(['hour', 'day', 'month']), buckets: z.array(UsageBucket) }),
    example: { period: '7d', interval: 'day', group_by: 'model' },
  },
  'GET /v1/buyer/usage/export': {
    tag,
    summary: 'Download a file of calls',
    as: 'redirect',
    example: { period: '7d' },
  },
  'GET /v1/buyer/caps': {
    tag,
    summary: 'Read what bounds spending now',
    description: 'The balance and the caps of every key that may spend, with the one that ends the spending first.',
    answer: Caps,
    example: {},
  },
  'GET /v1/buyer/jobs': {
    tag,
    summary: 'List long jobs',
    answer: pageSchema(Job),
    example: { state: 'running', max_items: 10 },
  },
  'GET /v1/buyer/savings': {
    tag,
    summary: 'Compare what was paid with list prices',
    answer: Savings,
    example: { period: '30d' },
  },
  'GET /v1/buyer/statements': {
    tag,
    summary: 'List ledger lines with the running balance',
    answer: pageSchema(StatementLine),
    example: { max_items: 10 },
  },
  'GET /v1/exports/:token': {
    tag,
    summary: 'Download a file behind a signed link',
    description: 'Where the exports redirect to. The link works without a key, for a while.',
    as: 'csv',
    example: {},
    refusals: [403, 410],
  },
}
