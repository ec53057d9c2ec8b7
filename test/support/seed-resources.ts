import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ResourceSchema } from '#shared/catalog/resources.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'

const Seed = z.object({ resources: z.array(ResourceSchema) })

/** The records of the seed, by id, with the public hosts of a test. */
export function seedResources(): ReadonlyMap<string, CompiledResource> {
  const text = readFileSync(new URL('../../dev/seed/resources.json', import.meta.url), 'utf8')
  const { resources } = Seed.parse(JSON.parse(text.replaceAll(/http:\/\/(sandbox-[a-e])/g, 'https://$1.example')))
  return new Map(resources.map((record) => [record.id, compileResource(record, 1)]))
}
