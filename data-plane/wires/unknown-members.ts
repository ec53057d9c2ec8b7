import type { Offer } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { allows } from '#shared/members/surcharge.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * The members that an offer's provider is not sent, because nobody knows what they cost. A provider of the buyer's own
 * is sent all, and so is that of a seller who allows it.
 */
export function leftOutFor(offer: Offer, { unknown }: AskedMembers): ReadonlySet<string> {
  return offer.id === null || allows(offer, 'unknown') ? NONE : unknown
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
