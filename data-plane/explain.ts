import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'
import type { RawRequest } from './call.ts'
import { readPathFloor } from './http/raw-request.ts'
import type { LocalCaller } from './pipeline/answer-locally.ts'
import { explainRoute } from './pipeline/explain-route.ts'
import { readJsonBody } from './wires/json-body.ts'
import type { AnyWire } from './wires/wire.ts'

/** A paid path, as far as explaining it goes. */
export type ExplainedRow = {
  readonly path: string
  readonly takesFloor: boolean
  readonly takes?: 'form'
  readonly route: { readonly wire: AnyWire }
}

const NO_QUERY = new URLSearchParams()

/**
 * Answers `{path, body}` with where that call would go now. The headers of the asking request count as that call's.
 * Throws what reading the call throws, and `invalid_request` for a path that sells nothing or takes no JSON.
 */
export function explainCall(rows: readonly ExplainedRow[], asked: RawRequest, { plane, payer }: LocalCaller): string {
  const { body: question } = readJsonBody(asked.body)
  const { path, body } = question
  if (typeof path !== 'string' || !isRecord(body)) {
    throw new AppError('invalid_request', { message: 'Explaining takes the path of a call and its body.' })
  }
  const [bare] = path.split('?', 1)
  const { floorPercent, rest } = readPathFloor(bare ?? '')
  const row = rows.find((candidate) => candidate.path === rest)
  if (row === undefined || row.takes === 'form' || (floorPercent !== undefined && !row.takesFloor)) {
    throw new AppError('invalid_request', { message: 'No call with a JSON body is sold on this path.', param: 'path' })
  }
  const raw: RawRequest = {
    ...asked,
    path: rest,
    query: NO_QUERY,
    body: Buffer.from(JSON.stringify(body)),
    pathFloorPercent: floorPercent,
  }
  const { refusal, ...explanation } = explainRoute(plane, payer, raw, row.route.wire.read(raw))
  return JSON.stringify({
    path: bare,
    would_serve: refusal === undefined,
    ...explanation,
    refusal: refusal === undefined ? null : refusalJson(row.route.wire, refusal, asked),
  })
}

/** The refusal as the call itself would get it: its status, and the error of its protocol's envelope. */
function refusalJson(wire: AnyWire, refusal: AppError, { requestId }: RawRequest): object {
  const { status, body } = wire.envelope(refusal, requestId)
  const envelope: unknown = JSON.parse(body)
  return { status, error: isRecord(envelope) ? envelope['error'] : envelope }
}
