import type { ModelPlan } from '#data-plane/call.ts'

/** The beginning of every frame of a streamed answer, up to the first of its choices. */
export function frameHead(plan: ModelPlan): string {
  return `data: ${head(plan, 'chat.completion.chunk')}[`
}

/** The beginning of a whole answer, up to its list of choices. */
export function wholeHead(plan: ModelPlan): string {
  return head(plan, 'chat.completion')
}

function head({ rid, createdAt, target, offer }: ModelPlan, object: string): string {
  return (
    `{"id":"chatcmpl-${rid}","object":"${object}","created":${createdAt},` +
    `"model":${JSON.stringify(target.id)},"provider":${JSON.stringify(offer.provider)},"choices":`
  )
}
