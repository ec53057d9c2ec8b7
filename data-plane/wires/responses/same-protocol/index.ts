import type { ModelPlan } from '#data-plane/call.ts'
import type { ResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { needsTool } from '#data-plane/wires/translate.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import { isOwnInput } from './passed-items.ts'
import { encodeResponsesRequest } from './request.ts'
import { ownWriter } from './writer.ts'

/**
 * The short way to sellers who speak responses. The middle form has no place for what only this protocol can say: tools of
 * the buyer's shell, groups of tools, several summaries of a thought. Everything that passes is on a list. An input in
 * another protocol's spelling goes through the middle form, which puts it right.
 */
export const sameProtocol = {
  applies({ conversation, json }: ResponsesRequest, plan: ModelPlan): boolean {
    return (
      chatCodecOf(plan.offer).ownReader !== undefined &&
      isOwnInput(json.body['input']) &&
      !needsTool(conversation.responseFormat, plan, conversation.tools.length > 0)
    )
  },
  encode: encodeResponsesRequest,
  writer: ownWriter,
}
