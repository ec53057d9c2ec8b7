import type { JsonBody, RawRequest } from '#data-plane/call.ts'
import { readFloor } from '#data-plane/http/path-floor.ts'
import type { RowIndex } from '#data-plane/http/row-index.ts'
import type { LocalCaller } from '#data-plane/pipeline/answer-locally.ts'
import { explainRoute } from '#data-plane/pipeline/plan/explain-route.ts'
import { refuseSwitchedOff } from '#data-plane/pipeline/refuse-switched-off.ts'
import { readAnyBody } from '#data-plane/wires/json-body.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { strictestFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord, scanMembers } from '#shared/json-members.ts'

const NO_QUERY = new URLSearchParams()

/**
 * Answers `{path, body}` with the offers that would now serve that call or submit. The headers of the request itself
 * count as that call's. Throws the errors of the parser, and `invalid_request` for a path that sells nothing or takes
 * no JSON.
 */
export function explainCall(index: RowIndex, rawRequest: RawRequest, { plane, payer }: LocalCaller): string {
  const read = readAnyBody(rawRequest)
  const { body: question } = read
  const { path, body } = question
  if (typeof path !== 'string' || !isRecord(body)) {
    throw new AppError('invalid_request', { message: 'Send the path and the body of a call.' })
  }
  const [bare] = path.split('?', 1)
  const { rows, floor } = index.find(bare ?? '')
  const floorPercent = strictestFloor([floor && readFloor(floor.text), rawRequest.pathFloorPercent])
  const row = rows.find(({ body: { kind } }) => kind === 'json')
  if (row?.serves.kind !== 'call' && row?.serves.kind !== 'job-submit') {
    throw new AppError('invalid_request', {
      message: 'No call with a JSON body can be bought on this path.',
      param: 'path',
    })
  }
  const { serves } = row
  const call = { path: row.path, query: NO_QUERY, pathFloorPercent: floorPercent }
  const raw =
    rawRequest.json === undefined
      ? { ...rawRequest, ...call, body: Buffer.from(JSON.stringify(body)) }
      : { ...rawRequest, ...call, ...inner(read, body) }
  if (serves.kind === 'job-submit') refuseSwitchedOff(plane, 'long_jobs')
  const parsed = serves.kind === 'call' ? serves.wire.read(raw, plane.market().resources) : serves.wire.read(raw)
  const { refusal, ...explanation } = explainRoute(plane, payer, raw, parsed)
  return JSON.stringify({
    path: bare,
    would_serve: refusal === undefined,
    ...explanation,
    refusal: refusal === undefined ? null : refusalJson(serves.wire, refusal, rawRequest),
  })
}

/** The call within a large request. It is parsed in place, because serialising it again would delay all calls. */
function inner(
  { text, bytes, members, hasStandIns }: JsonBody,
  body: JsonBody['body'],
): Pick<RawRequest, 'body' | 'json'> {
  const { start, end } = members.findLast(({ key }) => key === 'body') ?? { start: 0, end: text.length }
  const pathText = text.slice(start, end)
  // No data is inlined before it, so its offset in the text gives its offset in the bytes.
  const from = Buffer.byteLength(text.slice(0, start))
  const json = { text: pathText, bytes, hasStandIns, members: scanMembers(pathText) ?? [], body }
  return { body: bytes.subarray(from), json }
}

/** The refusal of the call itself: its status, and the error of its protocol's envelope. */
function refusalJson(wire: Pick<AnyWire, 'envelope'>, refusal: AppError, { requestId }: RawRequest): object {
  const { status, body } = wire.envelope(refusal, requestId)
  const envelope: unknown = JSON.parse(body)
  return { status, error: isRecord(envelope) ? envelope['error'] : envelope }
}
