import { z } from 'zod'
import { sumActivity } from '#control-plane/db/buyer-usage.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Day } from '#control-plane/services/input-fields.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import { tokensOf } from './buyer-usage.ts'

/** UTC days of an answer, with the running day. */
const DAYS = 31
const MAX_ROWS = 10_000

/** Sums of an account's calls of one UTC day, model and provider, in OpenRouter's shape. Amounts are USD. */
const ActivityItemSchema = z
  .object({
    date: z.string().describe('The UTC day: YYYY-MM-DD.'),
    model: z.string(),
    modelPermaslug: z.string(),
    endpointId: z.string(),
    providerName: z.string(),
    usage: z.number().describe('USD.'),
    byokUsageInference: z.literal(0).describe('Own providers cost nothing here.'),
    requests: Count,
    promptTokens: Count,
    completionTokens: Count,
    reasoningTokens: Count,
  })
  .meta({
    id: 'ActivityItem',
    description: 'The cost of one model for a buyer on one UTC day, in the shape of OpenRouter’s activity.',
  })

/** Sums the caller's calls by day, model and provider, newest first, for clients of OpenRouter. */
export const listActivity = defineOperation({
  name: 'usage.activity',
  summary: 'Get daily sums of calls by model and provider',
  about: 'In OpenRouter’s shape: the running UTC day and the thirty before it, or one `date`.',
  access: 'buyer',
  // Other members of OpenRouter's query are ignored.
  input: z.looseObject({ date: Day.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: z.object({ data: z.array(ActivityItemSchema) }),
  run: async (ctx, actor, { date }) => {
    const today = Date.parse(utcDay(ctx.clock.now()))
    const from = date === undefined ? today - (DAYS - 1) * DAY : Date.parse(date)
    const window = { from, to: date === undefined ? today + DAY : from + DAY }
    const rows = await sumActivity(ctx.db, { account: actor.account, ...window }, MAX_ROWS)
    return {
      data: rows.map(({ at, model, provider, ...sums }) => {
        const { inputTokens, outputTokens, reasoningTokens } = tokensOf(sums)
        return {
          date: utcDay(at.getTime()),
          model,
          modelPermaslug: model,
          endpointId: `${provider}/${model}`,
          providerName: provider,
          usage: microUsdToDollars(microUsd(sums.charge)),
          byokUsageInference: 0 as const,
          requests: Number(sums.requests),
          promptTokens: inputTokens,
          completionTokens: outputTokens,
          reasoningTokens,
        }
      }),
    }
  },
})
