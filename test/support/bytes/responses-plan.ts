import type { ModelPlan } from '#data-plane/call.ts'
import { buildModel, buildPlan, buildTarget } from './build-market.ts'
import { offerOf } from './wire-bytes.ts'

const model = buildModel({
  features: ['tools', 'reasoning', 'vision'],
  parameters: [...buildModel().parameters, 'reasoning_effort', 'verbosity', 'response_format'],
})

/** The plan of a call to a seller of responses, whose own name of the model differs from the market's name. */
export function responsesPlan(
  apiFormat: 'responses' | 'azureresponses' = 'responses',
  given: Partial<ModelPlan> = {},
): ModelPlan {
  const offer = offerOf({ apiFormat, providerModel: 'our-name' })
  return buildPlan({ offer, target: buildTarget(model), maxOutputTokens: 400, ...given })
}
