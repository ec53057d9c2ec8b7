import type { FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'
import { foreignHost } from './gate.ts'
import { isFloor } from './path-floor.ts'
import type { Hosts, Row } from './row.ts'
import type { Family, RowIndex } from './row-index.ts'
import { methodsOf } from './row-index.ts'
import type { Exchange } from './send-error.ts'
import { sendError } from './send-error.ts'

/** The voice and host of a request's path. */
export function familyOf(index: RowIndex, request: FastifyRequest): Family {
  return index.familyOf(pathOf(request))
}

/** Refuses a request that no row answers and says why: an invalid floor, a wrong method, or no such path. */
export function refuseUnanswered(index: RowIndex, hosts: Hosts, { request, reply }: Exchange): void {
  const path = pathOf(request)
  const isHere = ({ host }: Pick<Row, 'host'>) => request.raw.headers.host !== foreignHost(hosts, host)
  const { rows, floor } = index.find(path)
  const here = rows.filter(isHere)
  if (here.length > 0) reply.header('allow', [...methodsOf(here), 'OPTIONS'].join(', '))
  const isNoFloor = floor !== undefined && isHere(floor) && !isFloor(floor.text)
  const code = isNoFloor ? 'invalid_minimum_discount' : here.length > 0 ? 'method_not_allowed' : 'not_found'
  sendError({ request, reply }, index.familyOf(path), new AppError(code))
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? '/').split('?', 1)[0] ?? '/'
}
