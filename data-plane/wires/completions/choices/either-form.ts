import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { framedObject } from '#data-plane/wires/framed-object.ts'
import { joinedFrames } from '#data-plane/wires/joined-frames.ts'
import type { ChoiceReaders } from './choice.ts'
import { streamedChoices } from './stream.ts'
import { wholeChoices } from './whole.ts'

type Choices = {
  /** True when the buyer asked for a stream. */
  readonly isStreamed: boolean
  /** The choices, with the reader of a piece of one and that of a whole one. */
  readonly streamed: ChoiceReaders
  readonly whole: ChoiceReaders
}

/** The choices of an answer that arrives as events or as an object, in the requested form. */
export function choicesIn(plan: ModelPlan, isEvents: boolean, { isStreamed, streamed, whole }: Choices): Decoder {
  if (!isStreamed && !isEvents) return wholeChoices(plan, whole)
  const stream = streamedChoices(plan, streamed)
  if (!isEvents) return framedObject(stream)
  if (isStreamed) return stream
  return joinedFrames(stream, { finish: (choices) => choices, fail: (error) => openAiErrorBody(error, plan.rid) })
}
