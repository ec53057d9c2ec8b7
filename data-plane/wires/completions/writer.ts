import type { ModelPlan } from '#data-plane/call.ts'
import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { endMembers, failedStream, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import { FINISH_WORDS } from '#shared/protocols/middle-form/answer.ts'
import { answerOf, frameHead, pieceText } from './answer-text.ts'
import { thoughtMember } from './choices/choice.ts'

/** Writes an answer as the only choice of a text completion. It has no calls, because this wire has no tools. */
export function completionsWriter(plan: ModelPlan, isStreamed: boolean): AnswerWriter {
  const { write, finish, fail, keepAlive } = choiceWriter(plan, 0, isStreamed)
  return {
    write,
    finish: (receipt, end) => answerOf(plan, isStreamed, finish(receipt, end), receipt),
    fail,
    keepAlive,
  }
}

/** Writes an answer as the choice of this index, without the head and usage that surround all choices. */
export function choiceWriter(plan: ModelPlan, index: number, isStreamed: boolean): AnswerWriter {
  return isStreamed ? streamWriter(plan, index) : wholeWriter(plan, index)
}

function streamWriter(plan: ModelPlan, index: number): AnswerWriter {
  const head = frameHead(plan)
  return {
    write(event) {
      switch (event.kind) {
        case 'text':
        case 'refusal':
          return `${head}${pieceText(index, event.text)}]}\n\n`
        case 'reasoning':
          return event.text === '' ? '' : `${head}${pieceText(index, '', thoughtMember(event.text))}]}\n\n`
        default:
          return ''
      }
    },
    finish(_receipt, { reason, isCeiling }) {
      const end = endMembers(FINISH_WORDS[reason], isCeiling)
      return `${head}{"index":${index},"text":"","logprobs":null,${end}}]}\n\n`
    },
    fail: (error) => failedStream(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function wholeWriter(plan: ModelPlan, index: number): AnswerWriter {
  let text = ''
  let reasoning = ''
  return {
    write(event) {
      if (event.kind === 'text' || event.kind === 'refusal') text += event.text
      else if (event.kind === 'reasoning') reasoning += event.text
      return ''
    },
    finish(_receipt, { reason, isCeiling }) {
      const end = endMembers(FINISH_WORDS[reason], isCeiling)
      const textMembers = `"text":${JSON.stringify(text)}${thoughtMember(reasoning)}`
      return `{"index":${index},${textMembers},"logprobs":null,${end}}`
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
    keepAlive: () => '',
  }
}
