import { z } from 'zod'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { ERRORS } from '#shared/error-table.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { parseRequestId } from '#shared/ids.ts'
import type { Advice } from './error-advice.ts'
import { ADVICE, ADVICE_BY_TYPE } from './error-advice.ts'

const HEAD = `# Error catalogue

<!-- Generated from shared/error-table.ts: npm run generate -->

Every error has a code, a message and a request id. Write programs against \`code\`. The envelope depends on the path:

- On \`/v1\`: \`{"error":{"type","code","message","param","request_id",…},"request_id"}\`.
- Under \`/compat\`: \`{"type":"error","error":{"type","message","code",…},"request_id"}\`. The table below has the types.
- On \`/v1/seller\`: \`{"error":{"code","message","detail"?},"request_id"}\`.

Each code below has its status, its meaning and what to do. "Retry" says whether the same request can succeed later: "yes"
means after \`Retry-After\`, or after a moment without one. Errors that a retry cannot fix carry \`x-should-retry: false\`
where clients would try again. An error costs nothing.
`

const Compat = z.object({ error: z.object({ type: z.string() }) })

/** Writes the page: a chapter for each type, and every error with its meaning, its advice and an example body. */
export function errorCatalogue(): string {
  const codes = Object.keys(ERRORS).filter(isCode)
  const types = [...new Set(codes.map((code) => ERRORS[code].type))]
  const compat = compatTypes(codes)
  const rows = [...compat].map(([status, type]) => `| ${status} | \`${type}\` |`).join('\n')
  const sections = types.map((type) => {
    const own = codes.filter((code) => ERRORS[code].type === type)
    return `## \`${type}\`\n\n${own.map((code) => sectionOf(code, compat)).join('\n\n')}\n`
  })
  return `${HEAD}\n| Status | \`type\` under /compat |\n| --- | --- |\n${rows}\n\n${sections.join('\n')}`
}

/** The type under /compat that most errors of a status have, by status. */
function compatTypes(codes: readonly ErrorCode[]): ReadonlyMap<number, string> {
  const types = new Map<number, string[]>()
  for (const code of codes) {
    const { status, type } = compatOf(code)
    types.set(status, [...(types.get(status) ?? []), type])
  }
  const timesIn = (all: readonly string[], type: string) => all.filter((one) => one === type).length
  return new Map(
    [...types]
      .sort(([a], [b]) => a - b)
      .map(([status, all]): [number, string] => [
        status,
        [...all].sort((a, b) => timesIn(all, b) - timesIn(all, a))[0] ?? '',
      ]),
  )
}

function compatOf(code: ErrorCode): { readonly status: number; readonly type: string } {
  const { status, body } = messagesEnvelope(sampleOf(code), sampleId())
  return { status, type: Compat.parse(JSON.parse(body)).error.type }
}

function isCode(name: string): name is ErrorCode {
  return name in ERRORS
}

function adviceOf(code: ErrorCode): Advice {
  const advice = ADVICE[code] ?? ADVICE_BY_TYPE[ERRORS[code].type]
  if (advice === undefined) throw new Error(`there is no advice about ${code}`)
  return advice
}

function sampleOf(code: ErrorCode): AppError {
  const { param, detail } = adviceOf(code)
  return new AppError(code, { ...(param === undefined ? {} : { param }), ...(detail === undefined ? {} : { detail }) })
}

function sectionOf(code: ErrorCode, compat: ReadonlyMap<number, string>): string {
  const { status, message } = ERRORS[code]
  const { todo, retry } = adviceOf(code)
  const { status: compatStatus, type } = compatOf(code)
  const isUsual = compatStatus === status && compat.get(status) === type
  const exception = isUsual ? '' : ` **Under /compat:** ${compatStatus} \`${type}\`.`
  const example = JSON.stringify(JSON.parse(openAiEnvelope(sampleOf(code), sampleId()).body), null, 2)
  return `### \`${code}\`

**${status}** ${message}

**What to do:** ${todo} **Retry:** ${retry}.${exception}

\`\`\`json folded
${example}
\`\`\``
}

function sampleId() {
  const id = parseRequestId('01KA3Z7Q5JW9V4T8R2N6M0P1CD')
  if (id === undefined) throw new Error('the example has no request id')
  return id
}
