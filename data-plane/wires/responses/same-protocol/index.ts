import type { ModelPlan } from '#data-plane/call.ts'
import type { ResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { needsTool } from '#data-plane/wires/translate.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import { isOwnInput } from './passed-items.ts'
import { encodeResponsesRequest } from './request.ts'
import { ownWriter } from './writer.ts'

/**
 * The short path to sellers with the Responses protocol. The middle form has no place for features of this protocol
 * alone: tools of the buyer's shell, groups of tools, several summaries of reasoning. Everything that passes is on a
 * list. An input in another protocol's spelling goes through the middle form, which corrects it.
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
