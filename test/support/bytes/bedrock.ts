import { EventStreamCodec } from '@smithy/core/event-streams'
import { fromUtf8, toUtf8 } from '@smithy/core/serde'
import type { ModelPlan } from '#data-plane/call.ts'
import type { Model } from '#shared/catalog/model.ts'
import { buildPlan } from './build-market.ts'
import { offerOf } from './wire-bytes.ts'

export const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** A plan for a seller of Bedrock. */
export function bedrockPlan(providerModel = CLAUDE, model: Partial<Model> = {}): ModelPlan {
  const plan = buildPlan({ offer: offerOf({ apiFormat: 'bedrock', providerModel }), maxOutputTokens: 10_000 })
  const target = { ...plan.target, model: { ...plan.target.model, features: [], parameters: [], ...model } }
  return { ...plan, target }
}

const codec = new EventStreamCodec(toUtf8, fromUtf8)

/** A message of a stream, encoded by AWS's own codec. */
export function amazonEvent(type: string, payload: object, kind: 'event' | 'exception' = 'event'): Buffer {
  const text = (value: string) => ({ type: 'string', value }) as const
  const headers = {
    [`:${kind}-type`]: text(type),
    ':content-type': text('application/json'),
    ':message-type': text(kind),
  }
  return Buffer.from(codec.encode({ headers, body: fromUtf8(JSON.stringify(payload)) }))
}
