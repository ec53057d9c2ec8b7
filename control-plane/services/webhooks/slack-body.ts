/** Longest text of a message, below the bound of Slack. */
const MAX_TEXT_CHARS = 3_000
/** The letters that Slack reads as its own marks, and their replacements (docs.slack.dev, formatting of messages). */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

const escapeText = (text: string) => text.replaceAll(/[&<>]/g, (letter) => ESCAPES[letter] ?? letter)

/** The body that an incoming webhook of Slack takes: the event in bold, and a line for each fact. */
export function slackBodyOf({ event, data }: { readonly event: string; readonly data: object }): {
  readonly text: string
} {
  const lines = Object.entries(data).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${writtenValue(value)}`)
  const text = [`*${escapeText(event)}*`, ...lines.map(escapeText)].join('\n')
  return { text: text.slice(0, MAX_TEXT_CHARS) }
}

function writtenValue(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
