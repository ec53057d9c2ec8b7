import type { FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'
import { foreignHost } from './gate.ts'
import { isFloor } from './path-floor.ts'
import type { Hosts, Row } from './row.ts'
import type { Family, RowIndex } from './row-index.ts'
import { methodsOf } from './row-index.ts'
import type { Exchange } from './send-error.ts'

/** The voice and host of a request's path. */
export function familyOf(index: RowIndex, request: FastifyRequest): Family {
  return index.familyOf(pathOf(request))
}

/**
 * The refusal of a request that no row answers: an invalid floor, a wrong method, or no such path. Names the existing
 * methods.
 */
export function refusalOf(index: RowIndex, hosts: Hosts, { request, reply }: Exchange): AppError {
  const path = pathOf(request)
  const isHere = ({ host }: Pick<Row, 'host'>) => request.raw.headers.host !== foreignHost(hosts, host)
  const { rows, floor } = index.find(path)
  const here = rows.filter(isHere)
  if (here.length > 0) reply.header('allow', [...methodsOf(here), 'OPTIONS'].join(', '))
  const isNoFloor = floor !== undefined && isHere(floor) && !isFloor(floor.text)
  if (isNoFloor) return new AppError('invalid_minimum_discount')
  return here.length > 0 ? new AppError('method_not_allowed') : noSuchPath(pathMeantBy(index, path, isHere))
}

/**
 * Mistakes in a client's base URL, each with the intended path: a part is missing, is doubled, or belongs to another
 * API.
 */
const SLIPS: readonly ((path: string) => string)[] = [
  (path) => path.replace(/^(\/compat)?(?:\/v1){2,4}(?=\/)/, '$1/v1'),
  (path) => `/v1${path}`,
  (path) => path.replace(/^\/compat(?=\/)/, '/compat/v1'),
  (path) => `/compat${path}`,
  (path) => path.replace(/^\/(?:api|openai)(?=\/)/, ''),
]
/** Longest path that is compared with the rows again, in characters. */
const MAX_SLIP_CHARS = 256

/** The path of the row that a client most likely meant. It is our own text: the requested path may hold a key. */
function pathMeantBy(index: RowIndex, asked: string, isHere: (row: Row) => boolean): string | undefined {
  if (asked.length > MAX_SLIP_CHARS) return undefined
  const path = asked.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
  for (const candidate of [path, ...SLIPS.map((slip) => slip(path))]) {
    const row = index.find(candidate).rows.find(isHere)
    if (row !== undefined) return row.path
  }
  return undefined
}

function noSuchPath(meantPath: string | undefined): AppError {
  if (meantPath === undefined) return new AppError('not_found')
  return new AppError('not_found', {
    message: `This path does not exist. Did you mean ${meantPath}? Check the base URL of the client.`,
  })
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? '/').split('?', 1)[0] ?? '/'
}
