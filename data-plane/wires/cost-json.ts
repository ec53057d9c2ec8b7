import type { Receipt } from '#data-plane/call.ts'
import { dollars } from '#data-plane/dialects/usage.ts'

/** What a call cost, as the members of its `usage` object that every /v1 wire ends with. */
export function costMembers({ chargeMicro, listMicro }: Receipt): string {
  return (
    `"cost":${dollars(chargeMicro)},"buyer_cost_micro":${chargeMicro},` +
    `"cost_details":{"upstream_inference_cost":${dollars(listMicro)}}`
  )
}
