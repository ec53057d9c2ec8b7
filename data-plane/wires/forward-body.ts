import type { JsonBody, ModelPlan } from '#data-plane/call.ts'
import { modelNameAt } from '#shared/protocols/index.ts'
import { ROUTING_FIELDS } from './hints.ts'

/** The edits that make a seller's request of a buyer's own text. */
export type Edits = {
  /** Members that are left out silently. */
  readonly hidden: ReadonlySet<string>
  /** Members that are left out for a model whose list of parameters lacks them. A model without a list gets all. */
  readonly gated: ReadonlySet<string>
  /** Members that go only to a model whose list of parameters has them. A model without a list gets none. */
  readonly listed?: ReadonlySet<string>
  /** Names that clients use for a member, and its forwarded name. Members under two of them have the same value. */
  readonly renamed?: ReadonlyMap<string, string>
  /** Members that the market adds at the end, as JSON text that begins with a comma. */
  readonly added?: string
}

/**
 * The request as sent, with the seller's name of the model: a buyer's members stay byte for byte, routing members are
 * left out, and members that the model does not take are left out and named. So are unknown members, because their cost
 * is unknown.
 */
export function forwardBody(
  { text, members, body }: JsonBody,
  plan: ModelPlan,
  { hidden, gated, listed, renamed, added = '' }: Edits,
  unknown: ReadonlySet<string>,
): { readonly body: string; readonly adaptedParams: readonly string[] } {
  const { parameters } = plan.target.model
  const adaptedParams: string[] = []
  const values = new Map<string, string>()
  // The last of duplicates, as JSON.parse reads them.
  for (const { key, start, end } of members) values.set(key, text.slice(start, end).trim())
  const writtenNames = new Set<string>()
  let forwarded = `{"model":${JSON.stringify(modelNameAt(plan.offer))}`
  for (const [key, value] of values) {
    if (key === 'model' || ROUTING_FIELDS.has(key) || hidden.has(key) || body[key] === null) continue
    const name = renamed?.get(key) ?? key
    if (writtenNames.has(name)) continue
    writtenNames.add(name)
    const mustBeListed = listed?.has(name) === true || (gated.has(name) && parameters.length > 0)
    const isLeftOut = unknown.has(key) || (mustBeListed && !parameters.includes(name))
    if (isLeftOut) adaptedParams.push(key)
    else forwarded += `,${JSON.stringify(name)}:${value}`
  }
  return { body: `${forwarded}${added}}`, adaptedParams }
}
