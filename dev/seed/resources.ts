import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Address } from '#dev/services/ports.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'

const FileSchema = z.object({ resources: z.array(ResourceSchema) })

/**
 * Reads the seeded resources and families. Their hosts are sample providers, which the file names by id; here each gets
 * its address.
 */
export function readResources(addresses: ReadonlyMap<string, Address>): readonly Resource[] {
  const text = readFileSync(new URL('./resources.json', import.meta.url), 'utf8')
  return FileSchema.parse(JSON.parse(text)).resources.map((record) => ({
    ...record,
    hosts: record.hosts.map(({ role, baseUrl }) => ({ role, baseUrl: placed(baseUrl, addresses) })),
  }))
}

function placed(baseUrl: string, addresses: ReadonlyMap<string, Address>): string {
  const url = new URL(baseUrl)
  const address = addresses.get(url.hostname)
  if (address === undefined) return baseUrl
  return `http://${address.host}:${address.port}${url.pathname.replace(/\/$/, '')}`
}
