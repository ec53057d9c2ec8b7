import type { ModelPlan } from '#data-plane/call.ts'
import type { WrittenEnd } from '#data-plane/wires/answer-writer.ts'

/** The members of a message that precede its content, as JSON text. */
export function messageHead({ rid, target }: ModelPlan): string {
  return `"id":"msg_${rid}","type":"message","role":"assistant","model":${JSON.stringify(target.id)}`
}

/**
 * The stop reason and sequence as members. The reason is `tool_use` exactly when the answer has a call. After a call
 * that the limit cut off it is `max_tokens`, so that no client runs the calls of half an answer.
 */
export function stopMembers({ reason, stopSequence }: WrittenEnd, hasTools: boolean, hasRefused: boolean): string {
  const word = hasTools ? 'tool_use' : hasRefused ? 'refusal' : stopWord(reason, stopSequence)
  const sequence = word === 'stop_sequence' ? JSON.stringify(stopSequence) : 'null'
  return `"stop_reason":"${word}","stop_sequence":${sequence}`
}

function stopWord(reason: WrittenEnd['reason'], stopSequence: string | null): string {
  switch (reason) {
    case 'length':
      return 'max_tokens'
    case 'contentFilter':
      return 'refusal'
    case 'paused':
      return 'pause_turn'
    default:
      return stopSequence === null ? 'end_turn' : 'stop_sequence'
  }
}
