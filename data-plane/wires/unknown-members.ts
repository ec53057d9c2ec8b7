import type { Offer } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { allows } from '#shared/members/surcharge.ts'

const NONE: ReadonlySet<string> = new Set()
/** The member that only the messages protocol says. Any other provider works in the region of its host. */
const REGION = 'inference_geo'
const REGION_ALONE: ReadonlySet<string> = new Set([REGION])

/**
 * The members that an offer's provider is not sent, because nobody knows what they cost, and the region, which none of
 * OpenAI's protocols has a member for. A provider of the buyer's own is sent all. That of a seller who allows it is sent
 * what nobody knows.
 */
export function leftOutFor(offer: Offer, { unknown }: AskedMembers): ReadonlySet<string> {
  if (offer.id === null) return NONE
  return unknown.size === 0 || allows(offer, 'unknown') ? REGION_ALONE : new Set([...unknown, REGION])
}

/** Members without those that are left out, and the names of these. */
export function withoutUnknown(
  members: JsonObject,
  unknown: ReadonlySet<string>,
): { readonly kept: JsonObject; readonly leftOut: readonly string[] } {
  if (unknown.size === 0) return { kept: members, leftOut: [] }
  const leftOut = Object.keys(members).filter((name) => unknown.has(name))
  return { kept: Object.fromEntries(Object.entries(members).filter(([name]) => !unknown.has(name))), leftOut }
}
