import type { ModelPlan } from '#data-plane/call.ts'
import type { Model } from '#shared/catalog/model.ts'
import { buildPlan } from './build-market.ts'
import { offerOf } from './wire-bytes.ts'

/** A plan for a seller of Gemini's own protocol. */
export function geminiPlan(providerModel = 'gemini-3-flash-preview', model: Partial<Model> = {}): ModelPlan {
  const plan = buildPlan({ offer: offerOf({ apiFormat: 'gemini', providerModel }), maxOutputTokens: 10_000 })
  const target = { ...plan.target, model: { ...plan.target.model, features: [], parameters: [], ...model } }
  return { ...plan, target }
}
