import type { AttemptPlan } from '#data-plane/call.ts'
import type { AnswerWriter } from '#data-plane/dialects/answer.ts'
import { FINISH_WORDS } from '#data-plane/dialects/translate.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { answerHead, endMembers, KEEP_ALIVE, pieceText, streamEnd, wholeAnswer } from './answer-text.ts'

/** Writes what a seller answers to a prompt as the one choice of a text completion. Nothing is asked that makes calls. */
export function completionsWriter(plan: AttemptPlan, isStreamed: boolean): AnswerWriter {
  return isStreamed ? streamWriter(plan) : wholeWriter(plan)
}

function streamWriter(plan: AttemptPlan): AnswerWriter {
  const head = answerHead(plan)
  return {
    write(event) {
      switch (event.kind) {
        case 'text':
        case 'refusal':
          return `data: ${head}${pieceText(0, event.text)}]}\n\n`
        case 'reasoning':
          return `data: ${head}${pieceText(0, '', `,"reasoning":${JSON.stringify(event.text)}`)}]}\n\n`
        default:
          return ''
      }
    },
    finish(receipt, { reason, isCeiling }) {
      const last = `{"index":0,"text":"","logprobs":null,${endMembers(FINISH_WORDS[reason], isCeiling)}}`
      return `data: ${head}${last}]}\n\n${streamEnd(head, receipt)}`
    },
    fail: (error) => `data: ${openAiErrorBody(error, plan.rid)}\n\ndata: [DONE]\n\n`,
    keepAlive: () => KEEP_ALIVE,
  }
}

function wholeWriter(plan: AttemptPlan): AnswerWriter {
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
