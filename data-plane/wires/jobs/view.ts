import type { Receipt } from '#data-plane/call.ts'
import type { JobView } from '#data-plane/wires/wire.ts'
import { SECOND } from '#shared/clock.ts'
import { microUsdToDollars } from '#shared/money.ts'
import { usedTime } from '#shared/usage.ts'

/** The members that every answer of a job begins with. `object` is the kind of the job object. */
export function headOf({ id, state, model, createdAt, adaptedParams }: JobView, object: string) {
  return {
    id,
    object,
    status: state,
    model,
    created: createdAt,
    ...(adaptedParams.length > 0 && { adapted_params: adaptedParams }),
  }
}

/** Our job object as a whole. */
export function showJob(view: JobView, object: string) {
  const { artifacts, progress, expiresAt, endedAt, error } = view
  return {
    ...headOf(view, object),
    ...(progress !== undefined && { progress }),
    completed: endedAt ?? null,
    expires: expiresAt,
    artifacts: artifacts.map(({ index, url, contentType }) => ({ index, url, content_type: contentType })),
    usage: usageOf(view),
    error: error === undefined ? null : { type: error.type, code: error.code, message: error.message },
  }
}

/** The usage and the cost of a job that is over; null until then. */
export function usageOf({ receipt }: JobView) {
  if (receipt === undefined) return null
  const { chargeMicro, listMicro } = receipt
  return {
    seconds: secondsUsed(receipt),
    cost: microUsdToDollars(chargeMicro),
    buyer_cost_micro: Number(chargeMicro),
    cost_details: { upstream_inference_cost: microUsdToDollars(listMicro) },
  }
}

/** The length of a job's output. */
export function secondsUsed({ usage }: Receipt): number {
  return usedTime(usage) / SECOND
}
