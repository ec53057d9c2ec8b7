import type { Model } from '#shared/catalog/model.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { ModelStanding } from './availability.ts'
import { availableIn, readAvailability, standingOf } from './availability.ts'
import { inListOrder } from './models.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 60
const MAX_PAGE = 1_000

/**
 * `GET /compat/v1/models`: the catalogue in the messages wire's shape, in pages by `limit`, `after_id` and `before_id`.
 * Without a limit a page has the largest size. Each model says whether it can be bought now, and `available` selects
 * by that.
 */
export const listCompatModels: Read = async (sources, request) => {
  const { query } = request
  const availability = await readAvailability(sources)
  const isWanted = readAvailable(query.get('available'))
  const models = inListOrder(sources.market().models).filter(
    (model) => isWanted === undefined || standingOf(availability, model, request).isAvailable === isWanted,
  )
  const limit = readLimit(query.get('limit'))
  const afterId = query.get('after_id')
  const beforeId = query.get('before_id')
  if (afterId !== null && beforeId !== null) {
    throw new AppError('invalid_request', { message: 'after_id and before_id exclude each other.', param: 'before_id' })
  }
  const end = beforeId === null ? models.length : placeOf(models, beforeId, 'before_id')
  const start = afterId === null ? 0 : placeOf(models, afterId, 'after_id') + 1
  const page = beforeId === null ? models.slice(start, start + limit) : models.slice(Math.max(0, end - limit), end)
  const hasMore = beforeId === null ? start + page.length < models.length : end - page.length > 0
  const json = JSON.stringify({
    data: page.map((model) => compatModel(model, standingOf(availability, model, request))),
    has_more: hasMore,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  })
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /compat/v1/models/{id}`: one model under any of its names. */
export const readCompatModel: Read = async (sources, request) => {
  const model = sources.market().resolve(request.params['id'] ?? '')
  if (!model) throw new AppError('not_found', { message: 'model: no model has that name.' })
  const standing = standingOf(await readAvailability(sources), model, request)
  return { json: JSON.stringify(compatModel(model, standing)), maxAgeSeconds: MAX_AGE_SECONDS }
}

function compatModel({ id, name, created }: Model, standing: ModelStanding): object {
  const createdAt = new Date(created * SECOND).toISOString()
  return { type: 'model', id, display_name: name, created_at: createdAt, ...availableIn(standing) }
}

function readAvailable(text: string | null): boolean | undefined {
  if (text === null) return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  throw new AppError('invalid_request', { message: 'available: true or false.', param: 'available' })
}

function readLimit(text: string | null): number {
  if (text === null) return MAX_PAGE
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_PAGE) {
    throw new AppError('invalid_request', { message: `limit: a whole number from 1 to ${MAX_PAGE}.`, param: 'limit' })
  }
  return limit
}

function placeOf(models: readonly Model[], id: string, param: string): number {
  const place = models.findIndex((model) => model.id === id)
  if (place < 0) throw new AppError('invalid_request', { message: `${param}: no model of that id.`, param })
  return place
}
