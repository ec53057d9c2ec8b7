import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { CompletionsRequest } from '#data-plane/wires/completions/read-request.ts'
import { forwardBody } from '#data-plane/wires/forward-body.ts'
import { SAMPLING_FIELDS } from '#data-plane/wires/sampling.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import { forwardPath } from '#shared/protocols/index.ts'

const EDITS = {
  /** Members that are always written here, that ask for nothing, or that no provider ever receives. */
  hidden: new Set(['max_tokens', 'max_completion_tokens', 'stream', 'stream_options', 'best_of', 'include_reasoning']),
  gated: new Set([...SAMPLING_FIELDS, 'stop']),
}

/** The unchanged request, for a seller with the completions protocol. */
export function encodeCompletionsRequest(request: CompletionsRequest, plan: ModelPlan): UpstreamRequest {
  const { isStreamed, maxTokens, json } = request
  const stream = isStreamed ? ',"stream":true,"stream_options":{"include_usage":true}' : ''
  const edits = { ...EDITS, added: `,"max_tokens":${plan.maxOutputTokens}${stream}` }
  const { body, adaptedParams } = forwardBody(json, plan, edits, leftOutFor(plan.offer, request.askedMembers))
  return {
    path: forwardPath(plan.offer, 'completions'),
    body,
    contentType: 'application/json',
    accept: isStreamed ? 'text/event-stream' : 'application/json',
    adaptedParams: maxTokens === plan.maxOutputTokens ? adaptedParams : [...adaptedParams, 'max_tokens'],
  }
}
