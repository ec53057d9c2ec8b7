import type { ModelPlan } from '#data-plane/call.ts'
import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { endMembers, failedStream, KEEP_ALIVE, streamEnd } from '#data-plane/wires/openai-frames.ts'
import { FINISH_WORDS } from '#shared/protocols/middle-form/answer.ts'
import { frameHead, pieceText, wholeAnswer } from './answer-text.ts'

/** Writes an answer as the one choice of a text completion. It has no calls, because this wire has no tools. */
export function completionsWriter(plan: ModelPlan, isStreamed: boolean): AnswerWriter {
  return isStreamed ? streamWriter(plan) : wholeWriter(plan)
}

function streamWriter(plan: ModelPlan): AnswerWriter {
  const head = frameHead(plan)
  return {
    write(event) {
      switch (event.kind) {
        case 'text':
        case 'refusal':
          return `${head}${pieceText(0, event.text)}]}\n\n`
        case 'reasoning':
          return `${head}${pieceText(0, '', `,"reasoning":${JSON.stringify(event.text)}`)}]}\n\n`
        default:
          return ''
      }
    },
    finish(receipt, { reason, isCeiling }) {
      const last = `{"index":0,"text":"","logprobs":null,${endMembers(FINISH_WORDS[reason], isCeiling)}}`
      return `${head}${last}]}\n\n${streamEnd(head, receipt)}`
    },
    fail: (error) => failedStream(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function wholeWriter(plan: ModelPlan): AnswerWriter {
  let text = ''
  let reasoning = ''
  return {
    write(event) {
      if (event.kind === 'text' || event.kind === 'refusal') text += event.text
      else if (event.kind === 'reasoning') reasoning += event.text
      return ''
    },
    finish(receipt, { reason, isCeiling }) {
      const thought = reasoning === '' ? '' : `,"reasoning":${JSON.stringify(reasoning)}`
      const end = endMembers(FINISH_WORDS[reason], isCeiling)
      return wholeAnswer(plan, `{"index":0,"text":${JSON.stringify(text)}${thought},"logprobs":null,${end}}`, receipt)
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
    keepAlive: () => '',
  }
}
