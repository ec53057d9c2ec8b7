import type { Receipt } from '#data-plane/call.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'

/** No file that is taken lasts longer. */
const MAX_SECONDS = 1_000_000
const CUE = /-->\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{3})/g

/** Takes the duration that a transcript or its `usage` says into `into`, in milliseconds. */
export function mergeDuration(into: ReportedUsage, body: Readonly<Record<string, unknown>>): void {
  const { usage, duration } = body
  const seconds = isRecord(usage) ? (usage['seconds'] ?? usage['duration'] ?? duration) : duration
  if (seconds === undefined || seconds === null) return
  const given = typeof seconds === 'string' && /^\d{1,7}(?:\.\d{1,16})?$/.test(seconds) ? Number(seconds) : seconds
  if (typeof given === 'number' && given >= 0 && given <= MAX_SECONDS) into.milliseconds = Math.round(given * 1_000)
  else into.insaneFields++
}

/** Takes the end of the last cue of subtitles, which is how far the audio reaches at the least. */
export function mergeCues(into: ReportedUsage, subtitles: string): void {
  let last = 0
  for (const [, hours = '0', minutes = '0', seconds = '0', millis = '0'] of subtitles.matchAll(CUE)) {
    last = Math.max(last, ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000 + Number(millis))
  }
  if (last > 0) into.milliseconds = last
}

/** The `usage` object of a transcript: the time that is charged, in seconds, and what it cost. */
export function durationJson(receipt: Receipt): string {
  const seconds = JSON.stringify((receipt.usage.milliseconds ?? 0) / 1_000)
  return `{"type":"duration","seconds":${seconds},${costMembers(receipt)}}`
}
