import { z } from 'zod'
import { countLentOffers } from '#control-plane/db/lent-offers.ts'
import type { StoredResource } from '#control-plane/db/resources.ts'
import {
  findResource,
  insertResourceVersion,
  listResources as listAll,
  listResourceVersions,
} from '#control-plane/db/resources.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { hostOf } from '#shared/catalog/providers.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import { lentDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'
import { byText } from '#shared/text-order.ts'
import { oneLine } from '#shared/texts.ts'

/** The most changed members that a preview names, and the most versions that a history shows. */
const MAX_CHANGES = 500
const MAX_VERSIONS = 100
/** The largest record as JSON, in characters. */
const MAX_RECORD_CHARS = 300_000

const Id = oneLine(40).min(1)

const ResourceViewSchema = z.object({
  id: z.string(),
  kind: z.enum(['resource', 'family']),
  name: z.string(),
  version: z.number().int(),
  isOn: z.boolean(),
  activeOffers: z.number().int(),
  record: ResourceSchema,
})
export type ResourceView = z.infer<typeof ResourceViewSchema>

/** A member of a record that a new version changes: the values before and after as JSON, null for none. */
const PlaceSchema = z.object({ place: z.string(), before: z.string().nullable(), after: z.string().nullable() })

const PreviewSchema = z.object({
  id: z.string(),
  /** Null for a new record. */
  version: z.number().int().nullable(),
  activeOffers: z.number().int(),
  /** New hosts to which lent keys would be sent. */
  newHosts: z.array(z.string()).readonly(),
  changes: z.array(PlaceSchema).readonly(),
})
export type ResourcePreview = z.infer<typeof PreviewSchema>

const VersionSchema = z.object({
  version: z.number().int(),
  source: z.string(),
  actor: z.string(),
  createdAt: z.number(),
  changes: z.array(PlaceSchema).readonly(),
})

/** Lists the records of resources and families, with the number of their active offers. */
export const listResources = defineOperation({
  name: 'resource.list',
  summary: 'List resources and families, with their numbers of active offers',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ResourceViewSchema).readonly(),
  run: async (ctx): Promise<readonly ResourceView[]> => {
    const [storedResources, counts] = await Promise.all([listAll(ctx.db), countLentOffers(ctx.db)])
    return storedResources.map((row) => {
      const record = readRecord(row)
      const { id, kind, name, isOn } = record
      return { id, kind, name, isOn, version: row.version, activeOffers: counts.get(id) ?? 0, record }
    })
  },
})

/** Shows what {@link putResource} would change. */
export const previewResource = defineOperation({
  name: 'resource.preview',
  summary: 'Preview a change of a resource',
  access: 'operator',
  input: z.strictObject({ record: ResourceSchema }),
  limit: 'read',
  idempotency: 'none',
  output: PreviewSchema,
  run: async (ctx, _actor, { record }): Promise<ResourcePreview> => {
    checkRecord(ctx, record)
    const before = await findResource(ctx.db, record.id)
    return previewOf(before, record, (await countLentOffers(ctx.db)).get(record.id) ?? 0)
  },
})

const PutSchema = z.object({ id: z.string(), version: z.number().int(), isChanged: z.boolean() })

/**
 * Adds a resource or a family, or gives a record its next version, which every data plane applies at once. A call in
 * flight keeps its record. Throws `invalid_base_url` for a host that may not be dialled, and `conflict` when the record
 * was changed since `version`, or has another kind.
 */
export const putResource = defineOperation({
  name: 'resource.put',
  summary: 'Create or update a resource',
  about: 'The record applies at once. Running calls keep their earlier record.',
  access: 'operator',
  input: z.strictObject({
    record: ResourceSchema,
    /** The source of the record, in words. It is stored with the version. */
    source: oneLine(500).trim().min(1),
    /** The version that was previewed, null for none. When absent, the newest version is replaced. */
    version: z.number().int().positive().nullish(),
  }),
  limit: 'none',
  idempotency: 'none',
  output: PutSchema,
  run: async (ctx, actor, { record, source, version }) => {
    checkRecord(ctx, record)
    const put = await ctx.change(
      async (trx) => {
        const before = await findResource(trx, record.id, true)
        if (version !== undefined && version !== (before?.version ?? null)) {
          throw new AppError('conflict', { message: `The record is in version ${before?.version ?? 'none'} now.` })
        }
        const knownRecord = before && readRecord(before)
        if (knownRecord !== undefined && knownRecord.kind !== record.kind) {
          throw new AppError('conflict', { message: 'A record keeps its kind.' })
        }
        const changes = changesOf(knownRecord, record)
        if (before !== undefined && changes.length === 0) return { before, version: before.version, changes }
        const next = (before?.version ?? 0) + 1
        const { id, kind } = record
        const by = { source, actor: tenantOf(actor), at: ctx.clock.now() }
        await insertResourceVersion(trx, { id, kind, version: next, record, ...by })
        return { before, version: next, changes }
      },
      (result) => ({
        subject: record.id,
        before: result.before === undefined ? null : { version: result.before.version },
        after: { version: result.version, source, changes: result.changes },
      }),
    )
    await ctx.publication.publishSoon(['resources', lentDocumentName(record.id)])
    return { id: record.id, version: put.version, isChanged: put.changes.length > 0 }
  },
})

/** Lists the versions of a record, newest first, each with its changes. */
export const listResourceHistory = defineOperation({
  name: 'resource.history',
  summary: 'List the versions of a resource, newest first',
  access: 'operator',
  input: z.strictObject({ id: Id }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(VersionSchema).readonly(),
  run: async (ctx, _actor, { id }) => {
    const rows = await listResourceVersions(ctx.db, id, MAX_VERSIONS + 1)
    if (rows.length === 0) throw new AppError('not_found', { message: `No resource is called ${id}.` })
    return rows.slice(0, MAX_VERSIONS).map(({ version, source, actor, createdAt, record }, at) => ({
      version,
      source,
      actor,
      createdAt: createdAt.getTime(),
      changes: changesOf(rows[at + 1]?.record, record),
    }))
  },
})

/** The record of a resource that can be lent now. Throws `invalid_request` with the known names. */
export async function requireResource(ctx: Pick<Ctx, 'db'>, id: string, param: string): Promise<Resource> {
  const resource = await findResource(ctx.db, id)
  const record = resource && readRecord(resource)
  if (record?.isOn) return record
  const knownIds = (await listAll(ctx.db)).map(({ id: name }) => name)
  throw new AppError('invalid_request', {
    message: `No resource is called ${id}. Known: ${knownIds.join(', ')}.`,
    param,
  })
}

export function readRecord({ record }: Pick<StoredResource, 'record'>): Resource {
  return ResourceSchema.parse(record)
}

function checkRecord({ settings }: Pick<Ctx, 'settings'>, record: Resource): void {
  if (JSON.stringify(record).length > MAX_RECORD_CHARS) {
    throw new AppError('invalid_request', { message: `A record must have at most ${MAX_RECORD_CHARS} characters.` })
  }
  for (const [at, { baseUrl }] of record.hosts.entries()) {
    const host = hostOf(baseUrl) ?? ''
    if (checkOutboundUrl(baseUrl, new Set([host]), settings.outbound) === undefined) {
      throw new AppError('invalid_base_url', {
        message: 'Each host of the record must be an https host that the market may call.',
        param: `record.hosts.${at}.baseUrl`,
      })
    }
  }
}

function previewOf(before: StoredResource | undefined, record: Resource, activeOffers: number): ResourcePreview {
  const knownRecord = before && readRecord(before)
  const hostsOf = (of: Resource | undefined) => (of?.hosts ?? []).map(({ baseUrl }) => hostOf(baseUrl) ?? '')
  const old = new Set(hostsOf(knownRecord))
  const newHosts = [...new Set(hostsOf(record))].filter((host) => !old.has(host))
  return {
    id: record.id,
    version: before?.version ?? null,
    activeOffers,
    newHosts,
    changes: changesOf(knownRecord, record),
  }
}

/**
 * The members in which two records differ. Elements of lists are matched by id, role or name, so their order does not
 * count.
 */
function changesOf(before: unknown, after: unknown): z.infer<typeof PlaceSchema>[] {
  const [old, now] = [placesOf(before), placesOf(after)]
  const places = [...new Set([...old.keys(), ...now.keys()])].sort(byText)
  return places
    .filter((place) => old.get(place) !== now.get(place))
    .slice(0, MAX_CHANGES)
    .map((place) => ({ place, before: old.get(place) ?? null, after: now.get(place) ?? null }))
}

function placesOf(value: unknown, place = '', into = new Map<string, string>()): Map<string, string> {
  const inner = Array.isArray(value)
    ? value.map((item, at) => [nameOf(item) ?? String(at), item] as const)
    : isRecord(value)
      ? Object.entries(value)
      : undefined
  if (inner === undefined) {
    if (value !== undefined) into.set(place, JSON.stringify(value))
    return into
  }
  for (const [name, item] of inner) placesOf(item, place === '' ? name : `${place}.${name}`, into)
  return into
}

function nameOf(item: unknown): string | undefined {
  const name = isRecord(item) ? (item['id'] ?? item['role'] ?? item['name']) : undefined
  return typeof name === 'string' ? name : undefined
}
