import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import { responsesReader } from '#shared/protocols/responses/reader.ts'

/** The events of an answer, with its pieces joined. */
export function readResponse(text: string, isStreamed: boolean, cuts: readonly number[] = []) {
  const reader = responsesReader(isStreamed)
  const bytes = Buffer.from(text)
  const events: AnswerEvent[] = []
  let from = 0
  for (const cut of [...cuts.map((at) => at % bytes.length).sort((left, right) => left - right), bytes.length]) {
    events.push(...reader.push(bytes.subarray(from, cut)))
    from = cut
  }
  events.push(...reader.end())
  return { events: joined(events), failure: reader.failure(), reported: reader.reported() }
}

function joined(events: readonly AnswerEvent[]): AnswerEvent[] {
  const all: AnswerEvent[] = []
  for (const event of events) {
    const last = all.at(-1)
    const isMore = last !== undefined && 'text' in last && 'text' in event && last.kind === event.kind
    const isPlain = isMore && (event.kind === 'text' || (event.kind === 'reasoning' && event.details === undefined))
    const isInput = isMore && event.kind === 'toolInput' && last.kind === 'toolInput' && last.index === event.index
    if (isPlain || isInput) all[all.length - 1] = { ...last, text: last.text + event.text } as AnswerEvent
    else all.push(event)
  }
  return all
}
