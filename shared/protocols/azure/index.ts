import type { Protocol } from '#shared/protocols/protocol.ts'

/**
 * A protocol of OpenAI's at a resource of Azure, under the paths of its first version. The model's name is that of a
 * deployment, and the resource's list of models is of its region, not of its deployments.
 */
export function atAzure({ listing: _, ...spoken }: Protocol): Protocol {
  return {
    ...spoken,
    authorize(headers, key) {
      headers.push('api-key', key)
    },
  }
}
