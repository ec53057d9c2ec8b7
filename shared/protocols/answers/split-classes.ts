import type { Usage } from '#shared/usage.ts'
import type { ReportedUsage } from './reported-usage.ts'

type Split = {
  readonly reported: ReportedUsage
  readonly pictureTokens: number
  /** False for a buyer who ordered no cache of an hour. Such a write then costs as much as a short one. */
  readonly asksLongCache: boolean
}

/** Splits totals into the disjoint classes that have prices. */
export function splitClasses(input: number, output: number, { reported, pictureTokens, asksLongCache }: Split): Usage {
  const cacheRead = Math.min(reported.cachedTokens ?? 0, input)
  const cacheWrite = Math.min(reported.cacheWriteTokens ?? 0, input - cacheRead)
  const cacheWriteLong = asksLongCache ? Math.min(reported.cacheWriteLongTokens ?? 0, cacheWrite) : 0
  // A provider counts sound from its cache both as sound and as cached.
  const cachedAudio = Math.min(reported.cachedAudioTokens ?? 0, cacheRead)
  const freshAudio = Math.max(0, (reported.audioInputTokens ?? 0) - cachedAudio)
  const audioInput = Math.min(freshAudio, input - cacheRead - cacheWrite)
  const imageInput = Math.min(reported.imageInputTokens ?? 0, input - cacheRead - cacheWrite - audioInput)
  const reasoning = Math.min(reported.reasoningTokens ?? 0, output)
  const audioOutput = Math.min(reported.audioOutputTokens ?? 0, output - reasoning)
  const imageOutput = Math.min(pictureTokens, output - reasoning - audioOutput)
  const usage: { -readonly [Class in keyof Usage]: number } = {
    input: input - cacheRead - cacheWrite - audioInput - imageInput,
    output: output - reasoning - audioOutput - imageOutput,
  }
  if (cacheRead > cachedAudio) usage.cacheRead = cacheRead - cachedAudio
  if (cachedAudio > 0) usage.cachedAudio = cachedAudio
  if (cacheWrite > cacheWriteLong) usage.cacheWrite = cacheWrite - cacheWriteLong
  if (cacheWriteLong > 0) usage.cacheWriteLong = cacheWriteLong
  if (audioInput > 0) usage.audioInput = audioInput
  if (reasoning > 0) usage.reasoning = reasoning
  if (audioOutput > 0) usage.audioOutput = audioOutput
  if (imageInput > 0) usage.imageInput = imageInput
  if (imageOutput > 0) usage.imageOutput = imageOutput
  return usage
}
