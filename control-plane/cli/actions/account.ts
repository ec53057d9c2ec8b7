import { z } from 'zod'
import { count, dollars, dollarsOf, instant, percent } from '#control-plane/cli/amounts.ts'
import { USAGE_PERIODS } from '#control-plane/cli/choices.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, choiceOption, pageOf, textOption } from '#control-plane/cli/read-options.ts'
import { UsedUnits, usedUnits } from '#control-plane/cli/used-units.ts'
import { toSnakeBody } from '#shared/field-names.ts'

export const showBalance: Action = async ({ connection }) => {
  const me = await connection.as('buyer', (client) => client.buyer.me.query())
  const { stats } = me
  const block = facts({
    wallet: me.wallet,
    spendable: dollars(me.creditBalanceUsdc),
    held: dollars(me.heldUsdc),
    'spent so far': dollars(stats.totalSpent),
    calls: count(stats.totalRequests),
    tokens: `${count(stats.totalInputTokens)} in, ${count(stats.totalOutputTokens)} out`,
  })
  return { json: toSnakeBody(me), blocks: [block] }
}

const Standing = z.object({
  data: z.looseObject({
    key_id: z.string().nullable(),
    limit: z.number().nullable(),
    limit_remaining: z.number().nullable(),
    limit_reset: z.string().nullable(),
    rate_limit: z.looseObject({ requests: z.number(), remaining: z.number(), in_flight: z.number() }),
    min_discount_pct: z.number().nullable(),
    models_allowed: z.array(z.string()).nullish(),
  }),
})

export const showKey: Action = async ({ connection }) => {
  const { data } = readAnswer(Standing, await connection.call('GET', '/v1/key', { side: 'buyer' }))
  const block = facts({
    key: data.key_id,
    cap: data.limit === null ? 'none' : `${dollarsOf(data.limit)} ${data.limit_reset ?? ''}`.trim(),
    left: dollarsOf(data.limit_remaining),
    'calls a minute': `${data.rate_limit.remaining} of ${data.rate_limit.requests} left`,
    'running now': data.rate_limit.in_flight,
    'least discount': percent(data.min_discount_pct),
    models: data.models_allowed?.join(', ') ?? 'all',
  })
  return { json: data, blocks: [block] }
}

export const listUsage: Action = async ({ connection }, { options }) => {
  const input = {
    ...pageOf(options),
    period: choiceOption(options, 'period', USAGE_PERIODS),
    model: textOption(options, 'model'),
  }
  const page = await connection.as('buyer', (client) => client.usage.list.query(input))
  const rows = table(
    page.items,
    [
      { title: 'REQUEST', value: (item) => item.requestId },
      { title: 'WHEN', value: (item) => instant(item.createdAt) },
      { title: 'MODEL', value: (item) => item.model },
      { title: 'PROVIDER', value: (item) => item.provider },
      { title: 'IN', alignsRight: true, value: (item) => count(item.inputTokens) },
      { title: 'OUT', alignsRight: true, value: (item) => count(item.outputTokens) },
      { title: 'OTHER UNITS', value: (item) => usedUnits(item) },
      { title: 'PAID', alignsRight: true, value: (item) => dollars(item.buyerCostMicro) },
      { title: 'LIST', alignsRight: true, value: (item) => dollars(item.listCostMicro) },
      { title: 'STATE', value: (item) => item.settlementStatus },
    ],
    'No calls in this period.',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}

/** The hint that leads to the next page, when there is one. */
export function nextPage(token: string | null | undefined) {
  return token == null ? [] : [{ kind: 'text', text: `There is more. Add --next-token ${token}` } as const]
}

const Text = z.union([z.string(), z.number()]).nullish()
const Record = z.looseObject({
  request_id: z.string(),
  model: z.string().nullish(),
  provider: z.string().nullish(),
  settlement_status: z.string(),
  settlement_error: z.string().nullish(),
  buyer_cost_micro: Text,
  list_cost_micro: Text,
  created_at: z.number().nullish(),
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_read_tokens: z.number().nullish(),
  reasoning_tokens: z.number().nullish(),
  ...UsedUnits,
  ttft_ms: z.number().nullish(),
  duration_ms: z.number().nullish(),
  attempts: z
    .array(
      z.looseObject({
        provider: z.string().nullish(),
        status: Text,
        ms: z.number().nullish(),
        connect_ms: z.number().nullish(),
        resent: z.boolean().nullish(),
      }),
    )
    .nullish(),
})

export const showRequest: Action = async ({ connection }, given) => {
  const path = `/v1/requests/${encodeURIComponent(argument(given))}`
  const record = readAnswer(Record, await connection.call('GET', path, { side: 'buyer' }))
  const head = facts({
    request: record.request_id,
    model: record.model,
    provider: record.provider,
    state: record.settlement_status,
    ...(record.settlement_error == null ? {} : { error: record.settlement_error }),
    paid: dollars(record.buyer_cost_micro),
    'list price': dollars(record.list_cost_micro),
    tokens:
      `${record.input_tokens ?? 0} in (${record.cache_read_tokens ?? 0} cached), ` +
      `${record.output_tokens ?? 0} out (${record.reasoning_tokens ?? 0} thought)`,
    ...(usedUnits(record) === null ? {} : { 'other units': usedUnits(record) }),
    at: instant(record.created_at),
    took: record.duration_ms == null ? undefined : `${record.duration_ms} ms`,
    ...(record.ttft_ms == null ? {} : { 'first word': `${record.ttft_ms} ms` }),
  })
  const attempts = table(record.attempts ?? [], [
    { title: 'ATTEMPT AT', value: ({ provider }) => provider },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'MS', alignsRight: true, value: ({ ms }) => ms },
    { title: 'CONNECT MS', alignsRight: true, value: ({ connect_ms: ms }) => ms },
    { title: 'RESENT', value: ({ resent }) => (resent === true ? 'yes' : undefined) },
  ])
  return { json: record, blocks: [head, attempts] }
}
