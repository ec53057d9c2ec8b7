import type { Offer } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { allows } from '#shared/members/surcharge.ts'

const NONE: ReadonlySet<string> = new Set()
/** A member of the messages protocol alone. Any other provider works in the region of its host. */
const REGION = 'inference_geo'
const REGION_ALONE: ReadonlySet<string> = new Set([REGION])

/**
 * The members that an offer's provider does not receive, because their cost is unknown, and the region, for which
 * OpenAI's protocols have no member. A provider of the buyer's own receives all. A seller who allows it receives
 * unknown members.
 */
export function leftOutFor(offer: Offer, { unknown }: AskedMembers): ReadonlySet<string> {
  if (offer.id === null) return NONE
  return unknown.size === 0 || allows(offer, 'unknown') ? REGION_ALONE : new Set([...unknown, REGION])
}

/** The members that the provider receives, and the names of the others. */
export function withoutUnknown(
  members: JsonObject,
  unknown: ReadonlySet<string>,
): { readonly kept: JsonObject; readonly leftOut: readonly string[] } {
  if (unknown.size === 0) return { kept: members, leftOut: [] }
  const leftOut = Object.keys(members).filter((name) => unknown.has(name))
  return { kept: Object.fromEntries(Object.entries(members).filter(([name]) => !unknown.has(name))), leftOut }
}
