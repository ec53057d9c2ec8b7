import { splitClasses } from '#shared/protocols/answers/split-classes.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import type { ModelQuestion } from '#shared/protocols/protocol.ts'
import type { Usage } from '#shared/usage.ts'

/** A request as it was sent, and its answer. */
type Exchange = { readonly body: string; readonly status: number; readonly text: string }

/**
 * The billed usage of an accepted probe: the figures of its answer. A missing figure is replaced by an upper bound: a
 * token for each byte of the request, and the whole output limit. Refused and free probes use nothing.
 */
export function probedUsage(speaker: Speaker, question: ModelQuestion, { body, status, text }: Exchange): Usage {
  const { maxOutputTokens } = question
  if (maxOutputTokens === null || status >= 400) return {}
  const reportedUsage = question.reported?.(text) ?? reportedInChat(speaker, text)
  const { unnamedTokens = 0, reasoningTokens = 0, imageOutputTokens = 0, searches = 0 } = reportedUsage
  const reported = { ...reportedUsage, reasoningTokens: reasoningTokens + unnamedTokens }
  const hasOutput = reportedUsage.outputTokens !== undefined || unnamedTokens > 0
  const output = hasOutput ? (reportedUsage.outputTokens ?? 0) + unnamedTokens : maxOutputTokens
  const input = reportedUsage.inputTokens ?? Buffer.byteLength(body)
  const usage = splitClasses(input, output, { reported, pictureTokens: imageOutputTokens, asksLongCache: false })
  return searches === 0 ? usage : { ...usage, searches }
}

function reportedInChat(speaker: Speaker, text: string) {
  const reader = chatCodecOf(speaker).reader(false)
  reader.push(Buffer.from(text))
  reader.end()
  return reader.reported()
}
