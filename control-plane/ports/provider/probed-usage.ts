import { splitClasses } from '#shared/protocols/answers/split-classes.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import type { ModelQuestion } from '#shared/protocols/protocol.ts'
import type { Usage } from '#shared/usage.ts'

/** A question as it was sent, and the answer to it. */
type Exchange = { readonly body: string; readonly status: number; readonly text: string }

/**
 * The usage that an accepted question was billed for: the figures of its answer. For a figure that the answer does not give,
 * it is an upper bound: a token for each byte of the question, and the whole output limit. Questions that a provider
 * refuses, and those that it charges nothing for, use nothing.
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
