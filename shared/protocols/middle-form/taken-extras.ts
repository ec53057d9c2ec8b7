import type { Model } from '#shared/catalog/model.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { Conversation } from './conversation.ts'
import { takesMember } from './taken-members.ts'

/** Members that only OpenAI's protocols have, under their names in chats. None of them changes the price of a call. */
const EXTRAS = ['verbosity', 'prompt_cache_key', 'prompt_cache_retention'] as const

/** The extras of a request. */
export function extrasIn(body: JsonObject): JsonObject {
  return Object.fromEntries(EXTRAS.flatMap((name) => (isGiven(body[name]) ? [[name, body[name]]] : [])))
}

/**
 * The extras that a model of an OpenAI protocol accepts, and the names of the parameters that are left out without
 * them.
 */
export function takenExtras(
  { extras = {}, adaptedParams, spelling }: Conversation,
  model: Model,
): { readonly extras: JsonObject; readonly adaptedParams: readonly string[] } {
  const takenEntries = Object.entries(extras).filter(([name]) => takesMember(model, name))
  if (takenEntries.length === 0) return { extras: {}, adaptedParams }
  const takenNames = new Set(takenEntries.map(([name]) => spelling[name] ?? name))
  return {
    extras: Object.fromEntries(takenEntries),
    adaptedParams: adaptedParams.filter((name) => !takenNames.has(name)),
  }
}
