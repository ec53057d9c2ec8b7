import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Resource } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'

const Seed = z.object({ resources: z.array(ResourceSchema) })

/** The records of the seed, by id, with the public hosts of a test. */
export function seedResources(): ReadonlyMap<string, CompiledResource> {
  return new Map(readSeed().map((record) => [record.id, compileResource(record, 1)]))
}

/** A record of the seed. */
export function seedRecord(id: string): Resource {
  const record = readSeed().find((each) => each.id === id)
  if (record === undefined) throw new Error(`the seed has no ${id}`)
  return record
}

function readSeed(): readonly Resource[] {
  const text = readFileSync(new URL('../../../dev/seed/resources.json', import.meta.url), 'utf8')
  return Seed.parse(JSON.parse(text.replaceAll(/http:\/\/(sandbox-[a-e])/g, 'https://$1.example'))).resources
}
