import type { AttemptPlan } from '#data-plane/call.ts'

/** How every frame of a streamed answer begins, up to the first of its choices. */
export function frameHead(plan: AttemptPlan): string {
  return `data: ${head(plan, 'chat.completion.chunk')}[`
}

/** How a whole answer begins, up to its list of choices. */
export function wholeHead(plan: AttemptPlan): string {
  return head(plan, 'chat.completion')
}

function head({ rid, createdAt, target }: AttemptPlan, object: string): string {
  return (
    `{"id":"chatcmpl-${rid}","object":"${object}","created":${createdAt},` +
    `"model":${JSON.stringify(target.model.id)},"choices":`
  )
}
