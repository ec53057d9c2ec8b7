import { invoke } from '#control-plane/operation/invoke.ts'
import type { PaymentRecord } from '#control-plane/services/lookup.ts'
import { getRequest, listRequests, readPayment } from '#control-plane/services/lookup.ts'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { costOfPage, readPage, toEdges } from './page.ts'

type Routing = NonNullable<LookupRecord['routing']>

const RequestAttempt = builder.objectRef<LookupRecord['attempts'][number]>('RequestAttempt').implement({
  fields: (t) => ({
    provider: t.exposeString('provider'),
    status: t.exposeInt('status'),
    ms: t.exposeFloat('ms'),
  }),
})

const RoutedOffer = builder.objectRef<Routing['offers'][number]>('RoutedOffer').implement({
  description: 'An offer in the order of the attempts, with the most that the call could cost there.',
  fields: (t) => ({
    offer: t.exposeString('offer'),
    provider: t.exposeString('provider'),
    estimateMicro: t.exposeFloat('estimate_micro'),
  }),
})

const ExcludedOffer = builder.objectRef<Routing['excluded'][number]>('ExcludedOffer').implement({
  fields: (t) => ({ offer: t.exposeString('offer'), reason: t.exposeString('reason') }),
})

const Affinity = builder.objectRef<NonNullable<Routing['affinity']>>('RequestAffinity').implement({
  description: 'The offer that had the conversation cached, when that put it in front.',
  fields: (t) => ({ offer: t.exposeString('offer'), savingMicro: t.exposeFloat('saving_micro') }),
})

const RequestRouting = builder.objectRef<Routing>('RequestRouting').implement({
  description: 'Why a call went where it went.',
  fields: (t) => ({
    offers: t.expose('offers', { type: [RoutedOffer] }),
    excluded: t.expose('excluded', { type: [ExcludedOffer] }),
    affinity: t.expose('affinity', { type: Affinity, nullable: true }),
  }),
})

const RequestRecord = builder.objectRef<LookupRecord>('RequestRecord').implement({
  description:
    'What became of a call. Costs are whole micro-USD, instants Unix milliseconds, but `confirmedAt` is ISO 8601.',
  fields: (t) => ({
    requestId: t.exposeID('request_id'),
    model: t.exposeString('model'),
    provider: t.exposeString('provider', { nullable: true }),
    servedBy: t.exposeString('served_by', { nullable: true }),
    settlementStatus: t.exposeString('settlement_status'),
    settlementType: t.exposeString('settlement_type'),
    settlementError: t.exposeString('settlement_error', { nullable: true }),
    confirmedAt: t.exposeString('confirmed_at', { nullable: true }),
    buyerCostMicro: t.exposeFloat('buyer_cost_micro'),
    listCostMicro: t.exposeFloat('list_cost_micro'),
    txHash: t.exposeString('tx_hash', { nullable: true }),
    attempts: t.expose('attempts', { type: [RequestAttempt] }),
    createdAt: t.exposeFloat('created_at'),
    streamed: t.exposeBoolean('streamed'),
    cancelled: t.exposeBoolean('cancelled'),
    finishReason: t.exposeString('finish_reason', { nullable: true }),
    inputTokens: t.exposeFloat('input_tokens'),
    outputTokens: t.exposeFloat('output_tokens'),
    cacheReadTokens: t.exposeFloat('cache_read_tokens'),
    reasoningTokens: t.exposeFloat('reasoning_tokens'),
    imageInputTokens: t.exposeFloat('image_input_tokens'),
    imageOutputTokens: t.exposeFloat('image_output_tokens'),
    images: t.exposeFloat('images'),
    images2k: t.exposeFloat('images_2k'),
    images4k: t.exposeFloat('images_4k'),
    megapixels: t.exposeFloat('megapixels'),
    seconds: t.exposeFloat('seconds'),
    seconds1080p: t.exposeFloat('seconds_1080p'),
    seconds4k: t.exposeFloat('seconds_4k'),
    characters: t.exposeFloat('characters'),
    ttftMs: t.exposeFloat('ttft_ms', { nullable: true }),
    durationMs: t.exposeFloat('duration_ms'),
    routing: t.expose('routing', { type: RequestRouting, nullable: true }),
  }),
})

const PaymentRecordType = builder.objectRef<PaymentRecord>('PaymentRecord').implement({
  description: 'How the money of a call stands that a wallet paid.',
  fields: (t) => ({
    requestId: t.exposeID('request_id'),
    settlementStatus: t.exposeString('settlement_status'),
    settlementType: t.exposeString('settlement_type'),
    settlementError: t.exposeString('settlement_error', { nullable: true }),
    confirmedAt: t.exposeString('confirmed_at', { nullable: true }),
    buyerCostMicro: t.exposeFloat('buyer_cost_micro'),
    txHash: t.exposeString('tx_hash', { nullable: true }),
  }),
})

builder.queryFields((t) => ({
  payment: t.field({
    type: PaymentRecordType,
    description: 'The money of a call that a wallet paid, for whoever knows its request id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, readPayment, args, options),
  }),
  request: t.field({
    type: RequestRecord,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getRequest, args, options),
  }),
  requests: t.connection({
    type: RequestRecord,
    description: 'Calls of the caller that are over, newest first; those of one transaction where it is named.',
    args: { transaction: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { transaction, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ transaction }), ...readPage(args) }
      const { requests, ...next } = await invoke(ctx, actor, listRequests, input, options)
      const page = { ...next, items: requests }
      return toEdges(page, args, (record) => record)
    },
  }),
}))
