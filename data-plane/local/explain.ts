import type { RawRequest } from '#data-plane/call.ts'
import { readFloor } from '#data-plane/http/path-floor.ts'
import type { RowIndex } from '#data-plane/http/row-index.ts'
import type { LocalCaller } from '#data-plane/pipeline/answer-locally.ts'
import { explainRoute } from '#data-plane/pipeline/explain-route.ts'
import { readAnyBody } from '#data-plane/wires/json-body.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'

const NO_QUERY = new URLSearchParams()

/**
 * Answers `{path, body}` with the offers to which that call would go now. The headers of the asking request count as
 * that call's. Throws what reading the call throws, and `invalid_request` for a path that sells nothing or takes no
 * JSON.
 */
export function explainCall(index: RowIndex, asked: RawRequest, { plane, payer }: LocalCaller): string {
  const { body: question } = readAnyBody(asked.body)
  const { path, body } = question
  if (typeof path !== 'string' || !isRecord(body)) {
    throw new AppError('invalid_request', { message: 'Explaining takes the path of a call and its body.' })
  }
  const [bare] = path.split('?', 1)
  const { rows, floor } = index.find(bare ?? '')
  const floorPercent = floor === undefined ? undefined : readFloor(floor.text)
  const row = rows.find(({ body: { kind } }) => kind === 'json')
  if (row?.serves.kind !== 'call') {
    throw new AppError('invalid_request', { message: 'No call with a JSON body is sold on this path.', param: 'path' })
  }
  const { wire } = row.serves
  const raw: RawRequest = {
    ...asked,
    path: row.path,
    query: NO_QUERY,
    body: Buffer.from(JSON.stringify(body)),
    pathFloorPercent: floorPercent,
  }
  const { refusal, ...explanation } = explainRoute(plane, payer, raw, wire.read(raw))
  return JSON.stringify({
    path: bare,
    would_serve: refusal === undefined,
    ...explanation,
    refusal: refusal === undefined ? null : refusalJson(wire, refusal, asked),
  })
}

/** The refusal that the call itself would get: its status, and the error of its protocol's envelope. */
function refusalJson(wire: AnyWire, refusal: AppError, { requestId }: RawRequest): object {
  const { status, body } = wire.envelope(refusal, requestId)
  const envelope: unknown = JSON.parse(body)
  return { status, error: isRecord(envelope) ? envelope['error'] : envelope }
}
