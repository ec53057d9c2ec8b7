import type { ModelPlan } from '#data-plane/call.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { withSeal } from '#data-plane/wires/turn-seal.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'

/**
 * Parts of an answer that this wire has no place for, although the provider expects them back. Unsigned reasoning goes
 * into a sealed block in front of the calls, and a call's own members into its id.
 */
export type HiddenThought = {
  add(event: Extract<AnswerEvent, { readonly kind: 'reasoning' }>): void
  /** The reasoning so far, sealed. Undefined for a provider that expects none back. */
  take(): string | undefined
  /** The id of a call, with its members sealed in it. */
  idOf(call: { readonly id: string; readonly members?: JsonObject }): string
}

export function hiddenThought({ offer, seal }: ModelPlan): HiddenThought {
  let text = ''
  let member: string | undefined
  let details: JsonObject[] = []
  return {
    add(event) {
      text += event.text
      member ??= event.member
      if (event.details !== undefined) details.push(...event.details)
    },
    take() {
      if (member === undefined && details.length === 0) return undefined
      const content = {
        kind: 'thought' as const,
        text,
        ...(member !== undefined && { member }),
        ...(details.length > 0 && { details }),
      }
      text = ''
      member = undefined
      details = []
      return seal.close(makerOf(offer), content)
    },
    idOf({ id, members }) {
      return members === undefined ? id : withSeal(id, seal.close(makerOf(offer), { kind: 'call', members }))
    },
  }
}
