import type { JsonObject } from '#shared/json-members.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'

/** Members of a request that are forwarded to a model, and the names of those that the model does not accept. */
export type TakenMembers = { readonly members: Record<string, unknown>; readonly adaptedParams: readonly string[] }

/** Splits members by whether the model accepts them. A model that lists no parameters accepts all of them. */
export function takeMembers(
  { target }: EncodePlan,
  members: JsonObject,
  isGated: (name: string) => boolean,
): TakenMembers {
  const { parameters } = target.model
  const takenMembers: Record<string, unknown> = {}
  const adaptedParams: string[] = []
  for (const name in members) {
    const value = members[name]
    if (value === undefined || value === null) continue
    if (parameters.length > 0 && isGated(name) && !parameters.includes(name)) adaptedParams.push(name)
    else takenMembers[name] = value
  }
  return { members: takenMembers, adaptedParams }
}
