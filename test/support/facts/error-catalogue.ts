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
- Under \`/compat\`: \`{"type":"error","error":{"type","message","code",…},"request_id"}\`, with the status and type of the
  fourth column.
- On \`/v1/seller\`: \`{"error":{"code","message","detail"?},"request_id"}\`.

"Again" says whether the same request can succeed later: "yes" means after \`Retry-After\`, or after a moment without one.
Errors that a retry cannot fix carry \`x-should-retry: false\` where clients would try again. An error costs nothing.
`

const Compat = z.object({ error: z.object({ type: z.string() }) })

/** Writes the page: a section for each type, and every error with its advice and an example body. */
export function errorCatalogue(): string {
  const codes = Object.keys(ERRORS).filter(isCode)
  const types = [...new Set(codes.map((code) => ERRORS[code].type))]
  const sections = types.map((type) => {
    const own = codes.filter((code) => ERRORS[code].type === type)
    const rows = own.map(rowOf).join('\n')
    const examples = own.map((code) => exampleOf(code)).join('\n')
    return (
      `## \`${type}\`\n\n| Code | Status | When | /compat | What to do | Again |\n| --- | --- | --- | --- | --- | --- |\n` +
      `${rows}\n\n\`\`\`json\n${examples}\n\`\`\`\n`
    )
  })
  return `${HEAD}\n${sections.join('\n')}`
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

function rowOf(code: ErrorCode): string {
  const { status, message } = ERRORS[code]
  const { todo, retry } = adviceOf(code)
  const compat = messagesEnvelope(sampleOf(code), sampleId())
  const { type } = Compat.parse(JSON.parse(compat.body)).error
  return `| \`${code}\` | ${status} | ${message} | ${compat.status} \`${type}\` | ${todo} | ${retry} |`
}

function exampleOf(code: ErrorCode): string {
  return openAiEnvelope(sampleOf(code), sampleId()).body
}

function sampleId() {
  const id = parseRequestId('01KA3Z7Q5JW9V4T8R2N6M0P1CD')
  if (id === undefined) throw new Error('the example has no request id')
  return id
}
